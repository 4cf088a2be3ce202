//! `Report`: the counts of all threads, grouped by the code that had to fetch or invalidate a line.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;

use crate::state::{Access, Cost, Domain};
use crate::table::Width;
use crate::thread::{self, Site};

/// Accesses to lines that another cache had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads of a line that another cache has written since: it had to be fetched.
    pub loads: u64,
    /// Stores: the line had to be invalidated elsewhere.
    pub stores: u64,
    /// Atomic read-modify-writes, failed ones included: likewise.
    pub read_modify_writes: u64,
}

impl Counts {
    /// Returns the stores of both kinds.
    pub const fn writes(&self) -> u64 {
        self.stores + self.read_modify_writes
    }

    fn add(&mut self, site: &Site, cost: Cost, width: Width) {
        self.loads += site.counted(Access::Load, cost, width);
        self.stores += site.counted(Access::Store, cost, width);
        self.read_modify_writes += site.counted(Access::ReadModifyWrite, cost, width);
    }
}

/// A place in the code, with its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The function that owns the line: the innermost one that is neither the standard library's
    /// nor an atomic's.
    pub owner: String,
    /// File and line in that function.
    pub place: String,
    /// The most detailed list of functions on the way, innermost first.
    pub via: Vec<String>,
    /// The function that had the line before, in one of the cases.
    pub against: String,
    /// Accesses by schedulers to lines of other schedulers.
    pub shared: Counts,
    /// Accesses by schedulers to a free line whose neighbour in a pair of 128 bytes was not free.
    pub pairs: Counts,
    /// Accesses by schedulers to lines of background threads only.
    pub background: Counts,
    /// All accesses by background threads.
    pub by_background: Counts,
}

/// The counts since the last start.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One row per place in the code, ordered by shared writes, most first.
    pub rows: Vec<Row>,
    /// Accesses that were not counted because a thread had too many call stacks.
    pub lost: u64,
}

/// A function in the code, or an inlined part of it.
#[derive(Clone, Debug)]
struct Function {
    name: String,
    place: String,
    is_own: bool,
}

/// The functions at addresses, looked up once each: reading the debug information is slow.
#[derive(Default)]
pub struct Symbols {
    known: HashMap<usize, Vec<Function>>,
}

impl Symbols {
    /// Groups the counts by place in the code.
    pub fn report(&mut self) -> Report {
        let mut rows = BTreeMap::new();
        let mut lost = 0;
        for thread in thread::all() {
            lost += thread.lost();
            for site in thread.sites() {
                self.add(&mut rows, site, thread.domain());
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        let weight = |row: &Row| (row.shared.writes(), row.background.writes(), row.shared.loads);
        rows.sort_by_key(|row| std::cmp::Reverse(weight(row)));
        Report { rows, lost }
    }

    fn add(&mut self, rows: &mut BTreeMap<(String, String), Row>, site: &Site, domain: Domain) {
        let mut counted = Row::default();
        match domain {
            Domain::Scheduler(_) => {
                counted.shared.add(site, Cost::Shared, Width::Line);
                counted.pairs.add(site, Cost::Shared, Width::Pair);
                counted.background.add(site, Cost::Background, Width::Line);
            }
            Domain::Background => {
                counted.by_background.add(site, Cost::Background, Width::Line);
            }
        }
        if counted == Row::default() {
            return;
        }
        let functions = self.functions(site);
        let owner = owner_of(&functions);
        let key = (owner.name.clone(), owner.place.clone());
        let before = thread_before(self, site);
        let row = rows.entry(key).or_insert_with(|| Row {
            owner: owner.name,
            place: owner.place,
            via: via(&functions),
            against: before,
            ..Row::default()
        });
        for (sum, more) in row.all_mut().into_iter().zip(counted.all_mut()) {
            sum.loads += more.loads;
            sum.stores += more.stores;
            sum.read_modify_writes += more.read_modify_writes;
        }
    }

    fn functions(&mut self, site: &Site) -> Vec<Function> {
        site.frames().into_iter().flat_map(|frame| self.resolve(frame).to_vec()).collect()
    }

    fn resolve(&mut self, address: usize) -> &[Function] {
        self.known.entry(address).or_insert_with(|| resolve(address))
    }
}

impl Row {
    const fn all_mut(&mut self) -> [&mut Counts; 4] {
        [&mut self.shared, &mut self.pairs, &mut self.background, &mut self.by_background]
    }
}

fn thread_before(symbols: &mut Symbols, site: &Site) -> String {
    let Some(before) = site.taken_from() else { return String::new() };
    let owner = owner_of(&symbols.functions(before));
    format!("{} ({})", owner.name, owner.place)
}

/// Returns the functions at a return address, the innermost of inlined ones first.
fn resolve(address: usize) -> Vec<Function> {
    let mut found = Vec::new();
    // A return address is behind its call, which may be the last instruction of an inlined part.
    backtrace::resolve((address - 1) as *mut c_void, |symbol| {
        let name = symbol.name().map_or_else(|| "?".to_owned(), |name| format!("{name:#}"));
        let path = symbol.filename().map(|path| path.display().to_string()).unwrap_or_default();
        let place = format!("{}:{}", short_path(&path), symbol.lineno().unwrap_or(0));
        found.push(Function { is_own: is_own(&name, &path), name, place });
    });
    found
}

/// Returns whether a function can own a line: it is not library code that everything calls, and
/// does not only pass the line on.
fn is_own(name: &str, path: &str) -> bool {
    let is_library = path.contains("/library/") || path.contains("/rustc/");
    let is_library = is_library || ["hashbrown-", "mimalloc-"].iter().any(|p| path.contains(p));
    let is_wrapper = WRAPPERS.iter().any(|wrapper| path.contains(wrapper));
    !is_library && !is_wrapper && name != "?" && !name.starts_with("__rust") && !path.is_empty()
}

/// Code whose callers own the line: atomics, locks, the allocator.
const WRAPPERS: &[&str] =
    &["sos/src/sync.rs", "storage/src/primitives/sync.rs", LOCKS, "sos/src/memory/allocator.rs"];
const LOCKS: &str = "sos/src/lock/";

fn short_path(path: &str) -> &str {
    path.rsplit_once("crates/").map_or(path, |(_, rest)| rest)
}

/// Returns the function that owns the line: the allocator, the user of a lock, or the function
/// itself.
fn owner_of(functions: &[Function]) -> Function {
    let unknown = || Function { name: "unknown".to_owned(), place: String::new(), is_own: false };
    let innermost = functions.iter().find(|function| function.name != "?").cloned();
    let innermost = innermost.unwrap_or_else(unknown);
    let own = functions.iter().find(|function| function.is_own).cloned().unwrap_or_else(unknown);
    if innermost.name.trim_start_matches('_').starts_with("mi_") {
        return Function { name: "mimalloc".to_owned(), place: innermost.name, is_own: true };
    }
    // A closure has no name: the function that made it is the next one outwards.
    let named = functions.iter().filter(|f| f.is_own).find(|f| !f.name.starts_with('{'));
    let name = named.map_or(own.name.as_str(), |function| function.name.as_str());
    let suffix = if innermost_is_lock(functions) { " (lock)" } else { "" };
    let name = format!("{}{}{suffix}", module_of(&own.place), bare_name(name));
    Function { name, place: own.place, is_own: true }
}

fn innermost_is_lock(functions: &[Function]) -> bool {
    let passed = functions.iter().take_while(|function| !function.is_own);
    passed.into_iter().any(|function| function.place.contains(LOCKS))
}

/// Returns the module of a file: `storage/src/index/node.rs:151` is in `storage::index::node::`.
fn module_of(place: &str) -> String {
    let path = place.split(".rs:").next().unwrap_or_default();
    let parts = path.split('/').filter(|part| !["src", "mod", "lib", ""].contains(part));
    parts.map(|part| format!("{part}::")).collect()
}

/// Returns a function's name without its type and generic arguments.
fn bare_name(name: &str) -> &str {
    let name = name.split_once('<').filter(|(name, _)| !name.is_empty()).map_or(name, |(n, _)| n);
    name.rsplit("::").next().unwrap_or(name).trim_matches(['<', '>'])
}

/// Returns the callers of the innermost function that can own a line.
fn via(functions: &[Function]) -> Vec<String> {
    let own = functions.iter().filter(|function| function.is_own).skip(1);
    let named = own.map(|f| format!("{} ({})", bare_name(&f.name), f.place));
    named.take(VIA_MAX).collect()
}

const VIA_MAX: usize = 8;
