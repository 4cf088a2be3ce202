//! Names of code addresses: function, file and line, including the functions inlined there.
//!
//! They come from the line tables of the binary itself, which a release keeps, and for other images
//! from their exported symbols. Samplers and locks only record addresses; names are looked up when
//! a view asks for them, and a name that was looked up once is cached.
//!
//! A release has its tables compressed (docs/decisions/0385): the first look-up takes memory for all
//! of them, which is freed when no name has been looked up for a while.

use std::collections::HashMap;

use addr2line::Loader;

use crate::clock;
use crate::lock::{LatchClass, RwLatch};
use crate::stack::{self, FRAMES_MAX, StackId};
use crate::sync::{Arc, OnceLock};
use crate::sys;

/// The number of addresses whose names are cached at most.
const KEPT_MAX: usize = 1 << 16;

/// How long (ns) the tables stay in memory after the last look-up.
const OPEN_NS: u64 = 10_000_000_000;

/// A function that an address is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The image: the binary's name or a library's.
    pub module: Arc<str>,
    /// Its name, without the path if it was inlined; empty if it is unknown.
    pub name: Box<str>,
    /// The distance (bytes) of the address from the start of the function; of an inlined function,
    /// from the start of the one that it was inlined into.
    pub offset: usize,
    /// The source file, shortened to the path in its crate.
    pub file: Option<Box<str>>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
    /// Whether it was inlined into the next one.
    pub is_inlined: bool,
}

/// A function on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The return address: that of the instruction after the call.
    pub address: usize,
    /// The function that contains the call.
    pub function: Function,
}

/// The functions on a stack, innermost first: at least one for each address.
#[must_use]
pub fn frames(id: StackId) -> Vec<Frame> {
    let mut addresses = [0; FRAMES_MAX];
    let length = stack::frames(id, &mut addresses);
    let mut frames = Vec::new();
    for &address in &addresses[..length] {
        let functions = functions(address);
        frames.extend(functions.iter().map(|f| Frame { address, function: f.clone() }));
    }
    frames
}

/// A stack as text, one line per function: `module!function+0xoffset`.
#[must_use]
pub fn text(id: StackId) -> String {
    let line = |frame: &Frame| {
        let Function { module, name, offset, .. } = &frame.function;
        match name.is_empty() {
            true => format!("{module}+0x{offset:x}"),
            false => format!("{module}!{name}+0x{offset:x}"),
        }
    };
    frames(id).iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The functions that the instruction before an address is in, the innermost first.
#[must_use]
pub fn functions(address: usize) -> Arc<[Function]> {
    let names = NAMES.get_or_init(|| RwLatch::new(LatchClass::Other, Names::default()));
    if let Some(known) = names.read().known.get(&address) {
        return Arc::clone(known);
    }
    names.write().look_up(address)
}

static NAMES: OnceLock<RwLatch<Names>> = OnceLock::new();

/// The cached names, and the tables they come from.
#[derive(Default)]
struct Names {
    known: HashMap<usize, Arc<[Function]>>,
    /// `None` before the first look-up, and when the last one was long ago.
    image: Option<Image>,
    /// The monotonic time of the last look-up.
    used_ns: u64,
}

/// Frees the tables if no name has been looked up for [`OPEN_NS`]. Called once a second.
pub(crate) fn free_unused() {
    free_unused_for(OPEN_NS);
}

fn free_unused_for(ns: u64) {
    let Some(names) = NAMES.get() else { return };
    let is_unused = |names: &Names| {
        names.image.is_some() && clock::monotonic_ns().saturating_sub(names.used_ns) >= ns
    };
    if !is_unused(&names.read()) {
        return;
    }
    let mut names = names.write();
    // A look-up may have come between the two latches.
    let image = if is_unused(&names) { names.image.take() } else { None };
    drop(names);
    sys::read_with(|| drop(image));
}

/// The line tables of the running binary.
struct Image {
    begin: usize,
    shift: usize,
    /// `None` if the binary's file cannot be read.
    tables: Alone<Option<Loader>>,
}

/// Makes a value `Sync` by giving access only through `&mut`.
struct Alone<T>(T);

// SAFETY: a shared reference gives no access to the value; see `get`.
unsafe impl<T: Send> Sync for Alone<T> {}

impl<T> Alone<T> {
    fn get(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Image {
    fn open() -> Self {
        let tables = sys::read_with(|| Loader::new("/proc/self/exe").ok());
        let own = sys::place_of(Self::open as fn() -> Self as *const () as usize);
        Self {
            begin: own.map_or(0, |place| place.begin),
            shift: sys::own_shift(),
            tables: Alone(tables),
        }
    }

    /// The functions at an address of the running binary, from its tables.
    fn functions(&mut self, address: usize, module: &Arc<str>) -> Option<Vec<Function>> {
        let probe = (address - 1).checked_sub(self.shift)? as u64;
        let tables = self.tables.get().as_ref()?;
        let symbol = tables.find_symbol_info(probe);
        let begin = symbol.as_ref().map_or(probe, addr2line::Symbol::address);
        let offset = usize::try_from(probe - begin).unwrap_or(0) + 1;
        let function = |name: &str, file: Option<&str>, line| Function {
            module: Arc::clone(module),
            name: short(plain(name)).into(),
            offset,
            file: file.map(|file| shortened(file).into()),
            line,
            is_inlined: true,
        };
        let mut found = Vec::new();
        let mut frames = tables.find_frames(probe).ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let name =
                frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
            let name = name.or_else(|| Some(demangled(symbol.as_ref()?.name())))?;
            let place = frame.location.as_ref().and_then(|at| Some((at.file?, at.line?)));
            let place = place.or_else(|| nearest(tables, begin, probe));
            let (file, line) = place.unzip();
            found.push(function(&name, file, line));
        }
        if found.is_empty() {
            found.push(function(&demangled(symbol.as_ref()?.name()), None, None));
        }
        // The last one is the function that was not inlined; its symbol has the whole path.
        if let Some(last) = found.last_mut() {
            last.is_inlined = false;
            if let Some(symbol) = &symbol {
                last.name = plain(&demangled(symbol.name())).into();
            }
        }
        Some(found)
    }
}

/// The last place before an address for which the tables have a line: code that the compiler added,
/// such as the return from an inlined call, has none.
fn nearest(tables: &Loader, begin: u64, probe: u64) -> Option<(&str, u32)> {
    let places = tables.find_location_range(begin, probe).ok()?;
    places.filter_map(|(_, _, place)| Some((place.file?, place.line?))).last()
}

impl Names {
    fn look_up(&mut self, address: usize) -> Arc<[Function]> {
        if let Some(known) = self.known.get(&address) {
            return Arc::clone(known);
        }
        let found: Arc<[Function]> = self.find(address).into();
        if self.known.len() < KEPT_MAX {
            self.known.insert(address, Arc::clone(&found));
        }
        found
    }

    fn find(&mut self, address: usize) -> Vec<Function> {
        self.used_ns = clock::monotonic_ns();
        let image = self.image.get_or_insert_with(Image::open);
        let unknown = |module: Arc<str>, name: String, offset| Function {
            module,
            name: name.into(),
            offset,
            file: None,
            line: None,
            is_inlined: false,
        };
        let Some(place) = sys::place_of(address.saturating_sub(1)) else {
            return vec![unknown("?".into(), String::new(), address)];
        };
        let module: Arc<str> = place.file.rsplit('/').next().unwrap_or("?").into();
        if place.begin == image.begin
            && let Some(found) = image.functions(address, &module)
        {
            return found;
        }
        let (name, begin) = place.symbol.unwrap_or((String::new(), place.begin));
        vec![unknown(module, demangled(&name), address - begin)]
    }
}

fn demangled(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

/// A name without the hash by which the compiler distinguishes versions of a crate.
fn plain(name: &str) -> &str {
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    match name.rsplit_once("::h") {
        Some((plain, hash)) if is_hash(hash) => plain,
        Some(_) | None => name,
    }
}

/// The name of an inlined function without its path and type arguments: those of closures repeat
/// the path.
fn short(name: &str) -> &str {
    match name.find('<') {
        None | Some(0) => name,
        Some(at) => name[..at].trim_end_matches(':'),
    }
}

/// A source file's path: from the root of the repository for this project's files, from the root of
/// the crate for others.
fn shortened(file: &str) -> &str {
    const OWN: &str = env!("CARGO_MANIFEST_DIR");
    let root = OWN.strip_suffix("crates/sos").unwrap_or(OWN);
    if let Some(own) = file.strip_prefix(root) {
        return own;
    }
    if let Some((_, of_crate)) = file.split_once("/registry/src/") {
        return of_crate.split_once('/').map_or(of_crate, |(_, path)| path);
    }
    match file.strip_prefix("/rustc/").and_then(|path| path.split_once('/')) {
        Some((_, path)) => path,
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_hashes_and_paths_their_machines() {
        assert_eq!(plain("sos::park::wait::h0123456789abcdef"), "sos::park::wait");
        assert_eq!(plain("sos::park::h"), "sos::park::h");
        assert_eq!(short("call_once<(), x::{closure#0}<y>>"), "call_once");
        assert_eq!(short("{closure#1}<y>"), "{closure#1}");
        assert_eq!(short("<T as U>::run"), "<T as U>::run");
        assert_eq!(
            shortened("/rustc/59807616/library/core/src/cell.rs"),
            "library/core/src/cell.rs"
        );
        let registry = "/x/registry/src/index.org-1/libc-0.2.1/src/lib.rs";
        assert_eq!(shortened(registry), "libc-0.2.1/src/lib.rs");
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/symbols.rs");
        assert!(shortened(own).ends_with("crates/sos/src/symbols.rs"));
    }

    #[test]
    fn an_address_has_its_function_file_and_line() {
        let address = shortened as fn(&str) -> &str as *const () as usize;
        let found = functions(address + 2);
        let last = found.last().expect("at least one");
        assert_eq!(&*last.name, "sos::symbols::shortened", "{found:?}");
        assert!(last.file.as_deref().is_some_and(|file| file.ends_with("src/symbols.rs")));
        assert!(last.line.is_some_and(|line| line > 100) && !last.is_inlined);
        assert_eq!(last.offset, 2);
        let outside = functions(crate::sys::a_function_of_the_c_library() + 1);
        assert!(outside[0].name.ends_with("getpid") && outside[0].offset == 1, "{outside:?}");
        assert_eq!(&*functions(1)[0].name, "");
        let is_open = || NAMES.get().is_some_and(|names| names.read().image.is_some());
        free_unused();
        assert!(is_open(), "they were used a moment ago");
        free_unused_for(0);
        assert!(!is_open(), "they are freed");
        let again = functions(address + 3);
        assert_eq!((&*again[0].name, again[0].offset), (&*found[0].name, 3), "{again:?}");
        assert!(is_open(), "the next look-up reads them again");
    }
}
