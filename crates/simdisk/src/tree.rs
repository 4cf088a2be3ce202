//! `Tree`: the names of files and folders, those that are durable, and what was changed since.
//!
//! Each folder keeps its own list of changes. A power loss keeps any of them, each as a whole: a
//! rename within a folder is one change, one between folders is a change in each, so that the file
//! may have both names afterwards, or none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};

use sos::sys::path_names;

use crate::contents::Contents;
use crate::random::Random;

/// Identifies a file or folder, whatever its names are.
pub(crate) type NodeId = u64;

const ROOT: NodeId = 0;

/// Names that are set to a file or folder, or removed, at one moment.
type NameChange = Vec<(String, Option<NodeId>)>;

#[derive(Debug, Default)]
struct Folder {
    live: BTreeMap<String, NodeId>,
    durable: BTreeMap<String, NodeId>,
    unsynced: Vec<NameChange>,
}

#[derive(Debug)]
enum Node {
    Folder(Folder),
    File(Contents),
}

/// All files and folders, those without a name included while they may be needed.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: BTreeMap<NodeId, Node>,
    next: NodeId,
}

fn apply(change: &NameChange, to: &mut BTreeMap<String, NodeId>) {
    for (name, node) in change {
        match node {
            Some(node) => to.insert(name.clone(), *node),
            None => to.remove(name),
        };
    }
}

impl Folder {
    fn change(&mut self, change: NameChange) {
        apply(&change, &mut self.live);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            apply(&change, &mut self.durable);
        }
    }

    /// Makes some of the changes durable and drops the others.
    fn keep_some(&mut self, random: &mut Random) {
        let changes = self.unsynced.len();
        // All, none, the first ones, or any.
        let style = random.below(4);
        let first = random.index(changes + 1);
        for (number, change) in self.unsynced.drain(..).enumerate() {
            let is_kept = match style {
                0 => false,
                1 => true,
                2 => number < first,
                _ => random.coin(),
            };
            if is_kept {
                apply(&change, &mut self.durable);
            }
        }
    }
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self { nodes: BTreeMap::from([(ROOT, Node::Folder(Folder::default()))]), next: ROOT + 1 }
    }

    fn add(&mut self, node: Node) -> NodeId {
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, node);
        id
    }

    fn folder_at(&mut self, id: NodeId) -> io::Result<&mut Folder> {
        match self.nodes.get_mut(&id) {
            Some(Node::Folder(folder)) => Ok(folder),
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn file(&mut self, id: NodeId) -> &mut Contents {
        match self.nodes.get_mut(&id) {
            Some(Node::File(contents)) => contents,
            other => panic!("an open file stays one until the next life: {other:?}"),
        }
    }

    fn is_folder(&self, id: NodeId) -> bool {
        matches!(self.nodes.get(&id), Some(Node::Folder(_)))
    }

    fn walk(&mut self, names: &[&str]) -> io::Result<NodeId> {
        let mut node = ROOT;
        for name in names {
            let found = self.folder_at(node)?.live.get(*name).copied();
            node = found.ok_or(ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    fn find(&mut self, path: &str) -> io::Result<NodeId> {
        self.walk(&path_names(path)?)
    }

    /// Returns the folder that a name is in, and the name; none for the disk's folder.
    fn parent<'p>(&mut self, path: &'p str) -> io::Result<Option<(NodeId, &'p str)>> {
        let names = path_names(path)?;
        let Some((name, above)) = names.split_last() else { return Ok(None) };
        let folder = self.walk(above)?;
        self.folder_at(folder)?;
        Ok(Some((folder, name)))
    }

    /// Adds a file or folder under a free name.
    fn create(&mut self, path: &str, node: Node) -> io::Result<NodeId> {
        let (folder, name) = self.parent(path)?.ok_or(ErrorKind::AlreadyExists)?;
        if self.folder_at(folder)?.live.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let id = self.add(node);
        self.folder_at(folder)?.change(vec![(name.to_owned(), Some(id))]);
        Ok(id)
    }

    pub(crate) fn make_folder(&mut self, path: &str) -> io::Result<()> {
        self.create(path, Node::Folder(Folder::default())).map(|_| ())
    }

    pub(crate) fn create_file(&mut self, path: &str) -> io::Result<NodeId> {
        self.create(path, Node::File(Contents::default()))
    }

    pub(crate) fn open_file(&mut self, path: &str) -> io::Result<NodeId> {
        let id = self.find(path)?;
        if self.is_folder(id) { Err(ErrorKind::IsADirectory.into()) } else { Ok(id) }
    }

    pub(crate) fn list(&mut self, path: &str) -> io::Result<Vec<String>> {
        let id = self.find(path)?;
        Ok(self.folder_at(id)?.live.keys().cloned().collect())
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        path_names(to)?;
        let node = self.open_file(from)?;
        let (source, old) = self.parent(from)?.ok_or(ErrorKind::IsADirectory)?;
        let (target, new) = self.parent(to)?.ok_or(ErrorKind::IsADirectory)?;
        let replaced = self.folder_at(target)?.live.get(new).copied();
        if replaced.is_some_and(|id| self.is_folder(id)) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if replaced == Some(node) {
            // Two names of one file, or the same name: rename(2) does nothing then.
            return Ok(());
        }
        let (gone, named) = ((old.to_owned(), None), (new.to_owned(), Some(node)));
        if source == target {
            self.folder_at(source)?.change(vec![gone, named]);
        } else {
            self.folder_at(source)?.change(vec![gone]);
            self.folder_at(target)?.change(vec![named]);
        }
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &str) -> io::Result<()> {
        self.open_file(path)?;
        let (folder, name) = self.parent(path)?.ok_or(ErrorKind::IsADirectory)?;
        self.folder_at(folder)?.change(vec![(name.to_owned(), None)]);
        Ok(())
    }

    pub(crate) fn remove_folder(&mut self, path: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path)?.ok_or(ErrorKind::InvalidInput)?;
        let id = self.find(path)?;
        if !self.folder_at(id)?.live.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.folder_at(folder)?.change(vec![(name.to_owned(), None)]);
        Ok(())
    }

    pub(crate) fn sync_folder(&mut self, path: &str) -> io::Result<()> {
        let id = self.find(path)?;
        self.folder_at(id)?.sync();
        Ok(())
    }

    /// Makes some names durable. The others stay as they are until the next power loss.
    pub(crate) fn fail_sync_folder(&mut self, path: &str, random: &mut Random) -> io::Result<()> {
        let id = self.find(path)?;
        self.folder_at(id)?.keep_some(random);
        Ok(())
    }

    /// The files and folders that have a name now.
    fn named(&self) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::from([ROOT]);
        let mut folders = vec![ROOT];
        while let Some(id) = folders.pop() {
            let Some(Node::Folder(folder)) = self.nodes.get(&id) else { continue };
            for below in folder.live.values() {
                if found.insert(*below) {
                    folders.push(*below);
                }
            }
        }
        found
    }

    /// Bytes of room that files take: those with a name, and those that are open.
    pub(crate) fn room_taken(&self, opened: &BTreeMap<NodeId, usize>) -> u64 {
        let named = self.named();
        let rooms = self.nodes.iter().map(|(id, node)| match node {
            Node::File(contents) if named.contains(id) || opened.contains_key(id) => {
                contents.room()
            }
            Node::File(_) | Node::Folder(_) => 0,
        });
        rooms.sum()
    }

    pub(crate) fn lose_power(&mut self, random: &mut Random) {
        for node in self.nodes.values_mut() {
            match node {
                Node::Folder(folder) => {
                    folder.keep_some(random);
                    folder.live.clone_from(&folder.durable);
                }
                Node::File(contents) => contents.lose_power(random),
            }
        }
        let named = self.named();
        self.nodes.retain(|id, _| named.contains(id));
    }

    /// Copies all files, by path, and all folders, without bytes.
    pub(crate) fn copy(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![(String::new(), ROOT)];
        while let Some((path, id)) = folders.pop() {
            let Some(Node::Folder(folder)) = self.nodes.get(&id) else { continue };
            for (name, below) in &folder.live {
                let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                let bytes = match &self.nodes[below] {
                    Node::File(contents) => Some(contents.bytes().to_vec()),
                    Node::Folder(_) => None,
                };
                if bytes.is_none() {
                    folders.push((path.clone(), *below));
                }
                found.insert(path, bytes);
            }
        }
        found
    }
}
