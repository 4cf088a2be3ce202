//! Writing and reading backups on a simulated disk, with damage at every byte.

use catalog::BackupFacts;
use definitions::Entry;
use sos::sys::{Disk, Open};
use sos::wait::WaitType;
use storage::{RowId, RowImage};
use types::Bytes;

use super::{BackupError, BackupReader, BackupWriter, Piece, rows_of};

const WAIT: WaitType = WaitType::IoCompletion;

fn write(disk: &dyn Disk, compresses: bool, rows: u32) -> u64 {
    let mut facts = BackupFacts::default();
    facts.set("database", "d");
    let mut writer = BackupWriter::begin(disk, "b", compresses, &facts).unwrap();
    let entry = |n: u8| Entry { key: vec![n], value: Some(vec![n; 40]) };
    writer.definitions(&[entry(1), entry(2)]).unwrap();
    for n in 0..rows {
        let blobs = [Bytes::copy_from(&[7; 50])];
        let row = RowImage { bytes: &n.to_le_bytes(), blobs: &blobs };
        writer.row((n % 2, 1), RowId(u64::from(n)), row).unwrap();
    }
    writer.finish(BackupFacts::default()).unwrap().0
}

fn read(disk: &dyn Disk) -> Result<(usize, Vec<Vec<u8>>), BackupError> {
    let mut reader = BackupReader::open(disk, "b")?;
    assert_eq!(reader.facts().get("database"), "d");
    let (mut definitions, mut rows) = (0, Vec::new());
    while let Some(piece) = reader.next_piece()? {
        match piece {
            Piece::Definitions(entries) => definitions += entries.len(),
            Piece::Log { .. } | Piece::Ranges(_) => panic!("there is none"),
            Piece::Rows((_, part), piece) => {
                let read = rows_of::<()>(piece, |id, row| {
                    let expected = u32::try_from(id.0).unwrap().to_le_bytes();
                    assert_eq!((part, &row.bytes[..]), (1, &expected[..]));
                    rows.push(row.bytes.to_vec());
                    Ok(())
                });
                assert_eq!(read, Ok(Some(())));
            }
        }
    }
    Ok((definitions, rows))
}

fn disk() -> (tempfolder::Folder, sos::sys::OsDisk) {
    let folder = tempfolder::Folder::new();
    let disk = sos::sys::OsDisk::open(&folder.0).unwrap();
    (folder, disk)
}

mod tempfolder {
    //! A folder that is removed at the end of a test.

    use std::sync::atomic::{AtomicU32, Ordering};

    use sos::sys::{Disk, OsDisk};

    fn parent() -> OsDisk {
        OsDisk::open(std::env::temp_dir().to_str().unwrap()).unwrap()
    }

    pub(super) struct Folder(pub(super) String);

    impl Folder {
        pub(super) fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("clearway-backup-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(&name);
            parent().make_folder(&name).unwrap();
            Self(path.to_str().unwrap().to_owned())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let own = OsDisk::open(&self.0).unwrap();
            own.list("").unwrap().iter().for_each(|name| own.remove(name).unwrap());
            let name = self.0.rsplit('/').next().unwrap();
            parent().remove_folder(name).unwrap();
        }
    }
}

#[test]
fn what_was_written_comes_back() {
    for compresses in [false, true] {
        let (_folder, disk) = disk();
        write(&disk, compresses, 9);
        let (definitions, rows) = read(&disk).unwrap();
        assert_eq!((definitions, rows.len()), (2, 9));
        assert_eq!(rows[8], 8_u32.to_le_bytes());
        assert_eq!(disk.list("").unwrap(), ["b"]);
    }
}

#[test]
fn a_change_of_any_byte_and_any_cut_is_found() {
    let (_folder, disk) = disk();
    let len = write(&disk, true, 9);
    let mut whole = vec![0; usize::try_from(len).unwrap()];
    let file = disk.open("b", Open::Write, WAIT).unwrap();
    file.read_at(0, &mut whole).unwrap();
    for (at, byte) in (0..).zip(&whole) {
        file.write_at(at, &[byte ^ 0x10]).unwrap();
        let error = read(&disk).expect_err("a byte has changed");
        match error {
            BackupError::NotABackup => assert!(at < 8),
            BackupError::Version(_) => assert!((8..12).contains(&at)),
            BackupError::Damaged(offset, _) => assert!(offset <= at, "{offset} {at}"),
            other => panic!("{other}"),
        }
        file.write_at(at, &[*byte]).unwrap();
    }
    for cut in 0..len {
        file.write_at(0, &whole).unwrap();
        file.set_len(cut).unwrap();
        assert!(read(&disk).is_err(), "cut at {cut}");
    }
    file.write_at(0, &whole).unwrap();
    file.write_at(len, b"x").unwrap();
    assert!(matches!(read(&disk), Err(BackupError::Damaged(at, _)) if at == len));
}

#[test]
fn an_interrupted_backup_leaves_the_one_before() {
    let (_folder, disk) = disk();
    write(&disk, false, 3);
    let mut writer = BackupWriter::begin(&disk, "b", false, &BackupFacts::default()).unwrap();
    writer.row((1, 0), RowId(0), RowImage { bytes: b"x", blobs: &[] }).unwrap();
    assert_eq!(disk.list("").unwrap(), ["b", "b.tmp"]);
    drop(writer);
    assert_eq!(disk.list("").unwrap(), ["b"]);
    assert_eq!(read(&disk).unwrap().1.len(), 3);
    // One that a crash has left does no harm.
    disk.open("b.tmp", Open::Create, WAIT).unwrap().write_at(0, b"half").unwrap();
    write(&disk, false, 5);
    assert_eq!(read(&disk).unwrap().1.len(), 5);
    assert_eq!(disk.list("").unwrap(), ["b"]);
}

#[test]
fn files_of_others_are_told_apart() {
    let (_folder, disk) = disk();
    let file = disk.open("b", Open::Create, WAIT).unwrap();
    assert!(matches!(BackupReader::open(&disk, "b"), Err(BackupError::NotABackup)));
    file.write_at(0, b"TAPE and more").unwrap();
    assert!(matches!(BackupReader::open(&disk, "b"), Err(BackupError::SqlServer)));
    assert!(matches!(BackupReader::open(&disk, "c"), Err(BackupError::Open(_))));
}
