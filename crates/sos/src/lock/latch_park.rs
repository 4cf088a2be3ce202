//! The part of [`RawRwLatch`] under the lock of a queue's bucket: parking, and how a thread that
//! frees the latch wakes parked threads or hands the latch to one.

use super::latch_queue::{Bucket, HANDED, LatchQueues, LatchWaiter, SIGNALLED, wake};
use super::latch_slow_path::{LatchSlowPath, Next};
use super::latch_word::{LatchWord, Wanted};
use super::readers::ReaderOrders;
use super::{LatchOrders, RawRwLatch, SpinGuard, thread_number};
use crate::sync::{Arc, Ordering};

#[cfg(not(shuttle))]
static QUEUES: LatchQueues = LatchQueues::new();

impl<O: LatchOrders + ReaderOrders> RawRwLatch<O> {
    #[cfg(not(shuttle))]
    fn queues(&self) -> &LatchQueues {
        &QUEUES
    }

    #[cfg(shuttle)]
    fn queues(&self) -> &LatchQueues {
        &self.queues
    }

    /// Parks, unless the latch has just become free.
    pub(super) fn park(&self, slow_path: &mut LatchSlowPath) -> Next {
        let waiter = LatchWaiter::new(thread_number());
        if !self.enter(slow_path, &waiter) {
            return Next::TryAgain;
        }
        match slow_path.sleep(&waiter, self.address(), self.owner()) {
            HANDED => Next::Taken,
            _ => {
                self.arrive();
                Next::TryAgain
            }
        }
    }

    /// Clears the mark of a woken thread on its way, when that thread runs: others may be woken
    /// again. If it is overtaken, it parks again. Since others left the queue alone until now, this
    /// thread wakes those that must be woken.
    fn arrive(&self) {
        if O::SAYS_IT_IS_THERE {
            self.change(LatchWord::awake);
        }
        if self.load().keeps_readers_out() {
            let mut bucket = self.queues().bucket(self.address()).lock();
            self.wake_readers(&mut bucket);
        }
    }

    /// Wakes all parked readers, if the latch admits readers.
    fn wake_readers(&self, bucket: &mut SpinGuard<'_, Bucket>) {
        if !self.load().keeps_readers_out() {
            return;
        }
        let readers = bucket.take_readers(self.address());
        let parked = bucket.parked(self.address());
        self.change(|word| word.with_queue(parked));
        // Wakes under the bucket's lock, which is rare enough here.
        wake(readers, SIGNALLED);
    }

    /// Sets the mark in the word and enters the queue, unless the latch admits the thread.
    fn enter(&self, slow_path: &LatchSlowPath, waiter: &Arc<LatchWaiter>) -> bool {
        let mut bucket = self.queues().bucket(self.address()).lock();
        loop {
            let word = self.load();
            if O::LOOKS_AGAIN && word.admits(slow_path.wanted()) {
                return false;
            }
            if self.exchange(word, word.with_parked(slow_path.wanted())) {
                break;
            }
        }
        bucket.enter(self.address(), slow_path, waiter);
        true
    }

    /// Changes the queue's flags in the word.
    fn change(&self, change: impl Fn(LatchWord) -> LatchWord) {
        loop {
            let word = self.load();
            if self.exchange(word, change(word)) {
                return;
            }
        }
    }

    /// Ends the writer's hold, leaving the word that `next` makes of the present one.
    fn leave(&self, next: impl Fn(LatchWord) -> LatchWord) {
        loop {
            let word = self.load();
            // Release: pairs with the Acquire of the thread that takes the word. It fails if a
            // woken thread has just cleared its mark.
            let (free, failed) = (O::FREE, Ordering::Relaxed);
            if self.word.compare_exchange(word.0, next(word).0, free, failed).is_ok() {
                return;
            }
        }
    }

    /// The writer leaves while threads are queued: all parked readers are next, or else one writer.
    #[cold]
    pub(super) fn free_write_queued(&self) {
        let address = self.address();
        let mut bucket = self.queues().bucket(address).lock();
        let hand_over = bucket.is_hand_over_due(address);
        let readers = bucket.take_readers(address);
        let (wanted, woken) = match readers.is_empty() {
            true => (Wanted::Write, bucket.take_writer(address)),
            false => (Wanted::Read, readers),
        };
        let parked = bucket.parked(address);
        let writer = woken.first().filter(|_| wanted == Wanted::Write).map(|w| w.number());
        self.leave(|word| {
            let freed = word.with_queue(parked).freed();
            match (hand_over, writer) {
                _ if woken.is_empty() => freed,
                // The latch is free for any thread until the woken one runs.
                (false, _) => freed.waking(),
                (true, Some(number)) => freed.with_writer(number),
                // After a batch of readers that got the latch handed over, a writer must be next.
                (true, None) if parked.writers => {
                    freed.handed_to_readers(woken.len()).holding_back()
                }
                (true, None) => freed.handed_to_readers(woken.len()),
            }
        });
        drop(bucket);
        wake(woken, if hand_over { HANDED } else { SIGNALLED });
    }

    /// The last counted reader has left while threads are queued: a writer is next, because readers
    /// that came after it were held back.
    #[cold]
    pub(super) fn last_reader_left(&self) {
        let mut bucket = self.queues().bucket(self.address()).lock();
        if self.load().is_held() {
            // The thread that has taken the latch checks the queue when it leaves.
            return;
        }
        let hand_over = bucket.is_hand_over_due(self.address());
        let Some(writer) = bucket.take_writer(self.address()).pop() else {
            self.change(LatchWord::awake);
            self.wake_readers(&mut bucket);
            return;
        };
        let taken = hand_over && self.hand_to(&mut bucket, &writer);
        if !taken {
            let parked = bucket.parked(self.address());
            self.change(|word| word.with_queue(parked).waking());
        }
        drop(bucket);
        wake(vec![writer], if taken { HANDED } else { SIGNALLED });
    }

    /// Takes the free latch for a writer of the queue; false if another thread was faster.
    fn hand_to(&self, bucket: &mut Bucket, writer: &LatchWaiter) -> bool {
        let parked = bucket.parked(self.address());
        let word = self.load();
        let taken = word.with_queue(parked).with_writer(writer.number());
        word.admits(Wanted::Write) && self.exchange(word, taken)
    }
}
