//! The walk over folders: its order, its levels, its bounds, and its end when a request is cancelled.

use std::cell::Cell;
use std::path::PathBuf;

use metadata::folder_walk::{Bounds, Found, Search, walk};

/// Bounds that a test can meet.
const BOUNDS: Bounds = Bounds { names: 60, found: 20 };

/// A folder for one test, removed with all that is in it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("clearway-walk-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("the path is UTF-8")
    }

    /// Makes files `file0`, `file1` .. in a folder of the place.
    fn fill(&self, folder: &str, count: usize) {
        let folder = self.0.join(folder);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        for number in 0..count {
            std::fs::write(folder.join(format!("file{number}")), "x").expect("a file is made");
        }
    }

    fn search<'a>(&'a self, pattern: &'a str, levels: Option<usize>) -> Search<'a> {
        Search { asker: "walk", folder: self.text(), pattern, levels, bounds: BOUNDS }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn names(found: &[Found]) -> Vec<(&str, usize)> {
    found.iter().map(|found| (found.name.as_str(), found.level)).collect()
}

#[test]
fn names_come_in_order_and_levels_end_the_walk() {
    let place = Place::new("order");
    place.fill("b/c", 1);
    place.fill("a", 2);
    std::os::unix::fs::symlink("nowhere", place.0.join("link")).expect("a link is made");
    let all = walk(&place.search("*", None), &|| false).expect("it is small");
    let wanted =
        [("a", 0), ("file0", 1), ("file1", 1), ("b", 0), ("c", 1), ("file0", 2), ("link", 0)];
    assert_eq!(names(&all), wanted);
    let top = walk(&place.search("*", Some(1)), &|| false).expect("it is small");
    assert_eq!(names(&top), [("a", 0), ("b", 0), ("link", 0)]);
    let files = walk(&place.search("file?", Some(2)), &|| false).expect("it is small");
    assert_eq!(names(&files), [("file0", 1), ("file1", 1)]);
    let none = Search { folder: "/no/such/folder", ..place.search("*", None) };
    assert!(walk(&none, &|| false).expect("nothing is there").is_empty());
}

#[test]
fn too_many_names_are_an_error_even_if_none_matches() {
    let place = Place::new("many");
    place.fill("a", BOUNDS.names / 2);
    let few = walk(&place.search("none", None), &|| false).expect("they are few");
    assert!(few.is_empty());
    place.fill("b", BOUNDS.names / 2);
    let error = walk(&place.search("none", None), &|| false).expect_err("they are many");
    assert_eq!(error.number, 22_048);
    assert!(error.message.contains("more than 60 names"), "{error:?}");
    let top = walk(&place.search("*", Some(1)), &|| false).expect("the first level is small");
    assert_eq!(names(&top), [("a", 0), ("b", 0)]);
}

#[test]
fn too_many_matches_are_an_error() {
    let place = Place::new("matches");
    place.fill("a", BOUNDS.found);
    assert_eq!(walk(&place.search("file*", None), &|| false).expect("it fits").len(), BOUNDS.found);
    let error = walk(&place.search("*", None), &|| false).expect_err("the folder is one more");
    assert!(error.message.contains("more than 20 names match '*'"), "{error:?}");
}

#[test]
fn a_cancelled_request_ends_the_walk_between_two_names() {
    let place = Place::new("cancelled");
    place.fill("a", 10);
    let looks = Cell::new(0);
    let stops = || {
        looks.set(looks.get() + 1);
        looks.get() > 6
    };
    let error = walk(&place.search("*", None), &stops).expect_err("it is cancelled");
    assert_eq!(error.number, session::stop::INTERNAL);
    assert!(looks.get() < 10, "it went on for {} looks", looks.get());
}
