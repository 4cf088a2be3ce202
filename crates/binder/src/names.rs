//! Names of a list of columns: which are there, and where.
//!
//! A select list has up to 4,096 items, so a search through a list for each name of another one is
//! millions of comparisons. Short lists, which nearly all are, are searched; long ones are hashed.
//! Clients choose the names, so the hash has a random key.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use catalog::name::Name;

/// Lists up to this length are searched: that takes less time than hashing them.
const SEARCHED_MAX: usize = 24;

/// The names of a list so far: finds those that are there already.
#[derive(Default)]
pub(crate) struct NameSet<'n> {
    /// The first names, which are searched one by one.
    names: Vec<&'n str>,
    /// The folded names, once there are many.
    hashed: Option<HashSet<String>>,
}

impl<'n> NameSet<'n> {
    /// Returns the set of these names.
    pub(crate) fn of(names: impl Iterator<Item = &'n str>) -> Self {
        let mut set = Self::default();
        names.for_each(|name| {
            set.insert(name);
        });
        set
    }

    /// Adds a name; returns whether it was not there before.
    pub(crate) fn insert(&mut self, name: &'n str) -> bool {
        if self.names.len() < SEARCHED_MAX {
            let is_new = !self.names.iter().any(|other| Name::same(other, name));
            self.names.push(name);
            return is_new;
        }
        let folded = || self.names.iter().map(|name| Name::folded(name)).collect();
        self.hashed.get_or_insert_with(folded).insert(Name::folded(name))
    }
}

/// The places of names that may be in a list more than once. Hashed if the list is long and searched
/// more than once.
pub(crate) struct NameLists(Option<HashMap<String, Vec<usize>>>);

impl NameLists {
    /// Prepares a list for a number of searches.
    pub(crate) fn new<'n>(names: impl ExactSizeIterator<Item = &'n str>, searches: usize) -> Self {
        if searches < 2 || names.len() <= SEARCHED_MAX {
            return Self(None);
        }
        let mut hashed = HashMap::with_capacity(names.len());
        for (place, name) in names.enumerate() {
            hashed.entry(Name::folded(name)).or_insert_with(Vec::new).push(place);
        }
        Self(Some(hashed))
    }

    /// Returns the places of a name, rising, in the list whose names these are.
    pub(crate) fn find<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        wanted: &str,
    ) -> Cow<'_, [usize]> {
        match &self.0 {
            Some(hashed) => hashed
                .get(&Name::folded(wanted))
                .map_or(Cow::Owned(Vec::new()), |places| Cow::Borrowed(places.as_slice())),
            None => {
                let same = names.enumerate().filter(|(_, name)| Name::same(name, wanted));
                same.map(|(place, _)| place).collect()
            }
        }
    }
}

/// How often a name is in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No column of the list has the name.
    None,
    /// One column has it, at this place.
    One(usize),
    /// More than one column has it.
    Several,
}

/// Where the names of a list of columns are. Hashed at the first search, if the list is long.
#[derive(Debug, Default)]
pub struct NamePlaces(Option<HashMap<String, Found>>);

impl NamePlaces {
    /// Finds a name in the list whose names these are. The list must not change between searches.
    pub(crate) fn find<'n>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'n str>,
        wanted: &str,
    ) -> Found {
        if names.len() > SEARCHED_MAX {
            let hashed = self.0.get_or_insert_with(|| places(names));
            return hashed.get(&Name::folded(wanted)).copied().unwrap_or(Found::None);
        }
        let first = wanted.as_bytes().first().map_or(0, u8::to_ascii_lowercase);
        let mut found = Found::None;
        for (place, name) in names.enumerate() {
            if may_be_same(name, first) && Name::same(name, wanted) {
                found = found.and(place);
            }
        }
        found
    }
}

impl Found {
    /// Returns what is found when it is at one more place.
    pub(crate) fn and(self, place: usize) -> Self {
        match self {
            Self::None => Self::One(place),
            Self::One(_) | Self::Several => Self::Several,
        }
    }
}

fn places<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> HashMap<String, Found> {
    let mut hashed = HashMap::with_capacity(names.len());
    for (place, name) in names.enumerate() {
        let found = hashed.entry(Name::folded(name)).or_insert(Found::None);
        *found = found.and(place);
    }
    hashed
}

/// Returns whether a name may equal another one that begins with `first` in lower case. Most names
/// differ in the first letter.
#[inline]
fn may_be_same(candidate: &str, first: u8) -> bool {
    let letter = candidate.as_bytes().first().map_or(0, u8::to_ascii_lowercase);
    letter == first || !letter.is_ascii() || !first.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of which the last is the third one in other letters.
    fn names(n: usize) -> Vec<String> {
        let mut all: Vec<String> = (0..n - 1).map(|at| format!("straße{at}")).collect();
        all.push("STRAßE2".to_owned());
        all
    }

    #[test]
    fn long_lists_have_the_places_of_short_ones() {
        for n in [4, SEARCHED_MAX, SEARCHED_MAX + 1, SEARCHED_MAX + 2, 200] {
            let names = names(n);
            let mut set = NameSet::default();
            let new: Vec<bool> = names.iter().map(|name| set.insert(name)).collect();
            assert_eq!(new.iter().position(|is_new| !is_new), Some(n - 1), "{n} names");
            let lists = NameLists::new(names.iter().map(String::as_str), 2);
            let list = |wanted| lists.find(names.iter().map(String::as_str), wanted).into_owned();
            assert_eq!(list("Straße2"), [2, n - 1], "{n} names");
            assert_eq!(list("strasse2"), [], "{n} names");
            let mut places = NamePlaces::default();
            let mut find = |wanted| places.find(names.iter().map(String::as_str), wanted);
            assert_eq!(find("Straße2"), Found::Several, "{n} names");
            assert_eq!(find("STRAßE1"), Found::One(1), "{n} names");
            assert_eq!(find("strasse1"), Found::None, "{n} names");
        }
    }
}
