//! `walk`: follows the chain of frame pairs. Every address is checked before it is read.

use super::bounds::Bounds;

/// The most functions of a stack that are stored, the innermost ones.
pub const FRAMES_MAX: usize = 64;

/// Addresses below are never code: the first page is not mapped.
const CODE_FROM: usize = 4096;

/// The addresses that a walk has found so far.
pub(super) struct Walk {
    frames: [usize; FRAMES_MAX],
    length: usize,
    skip: usize,
}

impl Walk {
    /// Makes an empty walk that will leave its first `skip` addresses out.
    pub(super) fn new(skip: usize) -> Self {
        Self { frames: [0; FRAMES_MAX], length: 0, skip }
    }

    /// Adds the address of the next caller.
    #[inline]
    pub(super) fn push(&mut self, address: usize) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if let Some(frame) = self.frames.get_mut(self.length) {
            *frame = address;
            self.length += 1;
        }
    }

    /// The addresses, innermost first.
    pub(super) fn frames(&self) -> &[usize] {
        &self.frames[..self.length]
    }

    fn is_full(&self) -> bool {
        self.length == FRAMES_MAX
    }
}

/// Follows the pairs from `frame` on as long as each is above the one before, aligned and within
/// the bounds. So even on corrupt pairs it reads nothing else, and ends.
#[inline]
pub(super) fn walk(frame: usize, bounds: Bounds, read: impl Fn(usize) -> usize, found: &mut Walk) {
    let mut frame = frame;
    while bounds.have(frame, 2) && !found.is_full() {
        let (next, address) = (read(frame), read(frame + size_of::<usize>()));
        if address < CODE_FROM {
            return;
        }
        found.push(address);
        // Strictly increasing, so that a corrupt chain cannot be a cycle.
        if next <= frame {
            return;
        }
        frame = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: usize = size_of::<usize>();

    /// Marsaglia's xorshift: the same stacks in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0).expect("64 bit") % limit
        }
    }

    /// A made-up stack; a read outside it fails the test.
    struct Synthetic {
        bounds: Bounds,
        words: Vec<usize>,
    }

    impl Synthetic {
        fn read(&self, address: usize) -> usize {
            assert!(address.is_multiple_of(WORD), "unaligned: {address:#x}");
            assert!(address >= self.bounds.low, "below: {address:#x}");
            self.words[(address - self.bounds.low) / WORD]
        }

        fn walk(&self, frame: usize) -> Vec<usize> {
            let mut found = Walk::new(0);
            walk(frame, self.bounds, |address| self.read(address), &mut found);
            found.frames().to_vec()
        }
    }

    /// A stack of random words, most of them addresses near and on the stack, as on a corrupt one.
    fn corrupt(random: &mut Random) -> Synthetic {
        let words = random.below(80);
        let low = if random.below(10) == 0 {
            usize::MAX - 8 * 100 + 1
        } else {
            0x7000_0000 + WORD * random.below(1000)
        };
        let bounds = Bounds { low, high: low + WORD * words };
        let mut word = |_| match random.below(6) {
            0 => random.below(usize::MAX),
            1 => low.wrapping_add(random.below(700)).wrapping_sub(32),
            2 => random.below(CODE_FROM * 2),
            _ => low.wrapping_add(WORD * random.below(90)),
        };
        let words = (0..words).map(&mut word).collect();
        Synthetic { bounds, words }
    }

    #[test]
    fn a_corrupt_stack_is_walked_within_its_bounds_and_to_an_end() {
        let mut random = Random(0x5eed_1234_5678_9abc);
        let mut longest = 0;
        for _ in 0..300_000 {
            let stack = corrupt(&mut random);
            let frame = match random.below(8) {
                0 => random.below(usize::MAX),
                1 => stack.bounds.high.wrapping_sub(random.below(24)),
                _ => stack.bounds.low.wrapping_add(WORD * random.below(90)),
            };
            longest = longest.max(stack.walk(frame).len());
        }
        assert!(longest > 3, "some chains hold: {longest}");
    }

    #[test]
    fn a_sound_stack_is_walked_to_its_first_function() {
        let low = 0x7000_0000;
        let mut words = vec![0; 400];
        for i in 0..100 {
            words[4 * i] = low + WORD * 4 * (i + 1);
            words[4 * i + 1] = 0x40_0000 + i;
        }
        words[4 * 99] = 0;
        let stack = Synthetic { bounds: Bounds { low, high: low + WORD * words.len() }, words };
        let found = stack.walk(low + WORD * 4 * 90);
        assert_eq!(found, (90..100).map(|i| 0x40_0000 + i).collect::<Vec<_>>());
        assert_eq!(stack.walk(low).len(), FRAMES_MAX);
    }
}
