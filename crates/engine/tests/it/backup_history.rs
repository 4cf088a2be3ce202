//! What backups say of themselves: RESTORE HEADERONLY, FILELISTONLY and LABELONLY, and the tables of
//! msdb, also after a restart.

use super::backup::Data;
use crate::client::{batch, errors, instance, login, run, sets};

#[test]
fn a_file_says_what_it_is_of() {
    let data = Data::new("headers");
    let file = data.file("d.bak");
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; ALTER DATABASE d SET RECOVERY SIMPLE");
    let text = format!(
        "BACKUP DATABASE d TO DISK = '{file}' WITH NAME = 'nightly', DESCRIPTION = 'of d',
         MEDIANAME = 'm', COPY_ONLY, CHECKSUM, COMPRESSION"
    );
    run(&mut session, &text);
    let header = batch(&mut session, &format!("RESTORE HEADERONLY FROM DISK = '{file}'"));
    assert_eq!((header.errors.len(), header.sets[0].len(), header.sets[0][0].len()), (0, 1, 59));
    // The columns of SQL Server 2022, as scripts declare them for INSERT .. EXEC.
    run(
        &mut session,
        "CREATE TABLE #h (BackupName nvarchar(128), BackupDescription nvarchar(255), BackupType smallint,
         ExpirationDate datetime, Compressed tinyint, Position smallint, DeviceType tinyint,
         UserName nvarchar(128), ServerName nvarchar(128), DatabaseName nvarchar(128),
         DatabaseVersion int, DatabaseCreationDate datetime, BackupSize numeric(20,0),
         FirstLSN numeric(25,0), LastLSN numeric(25,0), CheckpointLSN numeric(25,0),
         DatabaseBackupLSN numeric(25,0), BackupStartDate datetime, BackupFinishDate datetime,
         SortOrder smallint, CodePage smallint, UnicodeLocaleId int, UnicodeComparisonStyle int,
         CompatibilityLevel tinyint, SoftwareVendorId int, SoftwareVersionMajor int,
         SoftwareVersionMinor int, SoftwareVersionBuild int, MachineName nvarchar(128), Flags int,
         BindingID uniqueidentifier, RecoveryForkID uniqueidentifier, Collation nvarchar(128),
         FamilyGUID uniqueidentifier, HasBulkLoggedData bit, IsSnapshot bit, IsReadOnly bit,
         IsSingleUser bit, HasBackupChecksums bit, IsDamaged bit, BeginsLogChain bit,
         HasIncompleteMetaData bit, IsForceOffline bit, IsCopyOnly bit,
         FirstRecoveryForkID uniqueidentifier, ForkPointLSN numeric(25,0), RecoveryModel nvarchar(60),
         DifferentialBaseLSN numeric(25,0), DifferentialBaseGUID uniqueidentifier,
         BackupTypeDescription nvarchar(60), BackupSetGUID uniqueidentifier,
         CompressedBackupSize bigint, Containment tinyint, KeyAlgorithm nvarchar(32),
         EncryptorThumbprint varbinary(20), EncryptorType nvarchar(32), LastValidRestoreTime datetime,
         TimeZone nvarchar(32), CompressionAlgorithm nvarchar(32))",
    );
    run(&mut session, &format!("INSERT #h EXEC ('RESTORE HEADERONLY FROM DISK = ''{file}''')"));
    let shown = sets(
        &mut session,
        "SELECT BackupName, BackupDescription, BackupType, Compressed, DatabaseName, IsCopyOnly,
         RecoveryModel, BackupTypeDescription, CompressionAlgorithm, UserName,
         IIF(BackupFinishDate >= BackupStartDate AND BackupStartDate >= DatabaseCreationDate, 1, 0),
         IIF(BackupSize >= CompressedBackupSize AND CompressedBackupSize > 0, 1, 0), Flags FROM #h",
    );
    let expected = [
        "nightly", "of d", "1", "1", "d", "1", "SIMPLE", "Database", "LZ4", "sa", "1", "1", "1040",
    ];
    assert_eq!(shown, [[expected]]);
    let files = sets(&mut session, &format!("RESTORE FILELISTONLY FROM DISK = '{file}'"));
    let names: Vec<[&str; 4]> =
        files[0].iter().map(|row| [&*row[0], &*row[2], &*row[3], &*row[6]]).collect();
    assert_eq!(names, [["d", "D", "PRIMARY", "1"], ["d_log", "L", "NULL", "2"]]);
    assert_eq!(files[0][0].len(), 22);
    let label = sets(&mut session, &format!("RESTORE LABELONLY FROM DISK = '{file}'"));
    assert_eq!((&*label[0][0][0], label[0][0].len()), ("m", 13));
    for form in ["HEADERONLY", "FILELISTONLY", "LABELONLY"] {
        let text = format!("RESTORE {form} FROM DISK = '{}'", data.file("none"));
        assert_eq!(errors(&mut session, &text), [3201, 3013], "{form}");
    }
}

const HISTORY: &str = "
    SELECT s.type, s.database_name, s.name, s.recovery_model, s.position, f.physical_device_name,
        m.software_name, IIF(s.backup_size >= s.compressed_backup_size, 1, 0)
    FROM msdb.dbo.backupset s
    JOIN msdb.dbo.backupmediaset m ON m.media_set_id = s.media_set_id
    JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id ORDER BY s.backup_set_id;
    SELECT backup_set_id, logical_name, file_type FROM msdb.dbo.backupfile ORDER BY 1, 2;
    SELECT r.destination_database_name, r.restore_type, r.replace, r.recovery, s.database_name
    FROM msdb.dbo.restorehistory r JOIN msdb.dbo.backupset s ON s.backup_set_id = r.backup_set_id
    ORDER BY r.restore_history_id;
    SELECT COUNT(*) FROM msdb.dbo.restorefile; SELECT filegroup_name FROM msdb.dbo.restorefilegroup";

#[test]
fn msdb_remembers_backups_and_restores() {
    let data = Data::new("history");
    let (a, b) = (data.file("a.bak"), data.file("b.bak"));
    let expected;
    {
        let instance = data.open();
        let mut session = login(&instance);
        run(&mut session, "CREATE DATABASE d; CREATE DATABASE e");
        run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{a}' WITH NAME = 'first'"));
        run(&mut session, &format!("BACKUP DATABASE e TO DISK = '{b}'"));
        run(&mut session, &format!("RESTORE DATABASE f FROM DISK = '{a}'"));
        // A backup that fails is not remembered.
        errors(&mut session, "BACKUP DATABASE d TO DISK = '/no/such/folder/x'");
        expected = sets(&mut session, HISTORY);
        assert_eq!(
            expected[0],
            [
                ["D", "d", "first", "FULL", "1", &*a, "Clearway", "1"],
                ["D", "e", "NULL", "FULL", "1", &*b, "Clearway", "1"]
            ]
        );
        assert_eq!(expected[1].len(), 4);
        assert_eq!(expected[2], [["f", "D", "0", "1", "d"]]);
        assert_eq!(expected[3], [["2"]]);
        assert_eq!(expected[4], [["PRIMARY"]]);
        instance.durable().unwrap().stop_at_once();
    }
    {
        let instance = data.open();
        let mut session = login(&instance);
        assert_eq!(sets(&mut session, HISTORY), expected, "from the log");
        instance.durable().unwrap().stop();
    }
    let instance = data.open();
    let mut session = login(&instance);
    assert_eq!(sets(&mut session, HISTORY), expected, "from a checkpoint");
    run(&mut session, "EXEC msdb.dbo.sp_delete_database_backuphistory @database_name = 'd'");
    let counts =
        "SELECT COUNT(*) FROM msdb.dbo.backupset; SELECT COUNT(*) FROM msdb.dbo.restorehistory";
    assert_eq!(sets(&mut session, counts), [[["1"]], [["0"]]]);
    run(&mut session, "EXEC msdb.dbo.sp_delete_backuphistory '2001-01-01'");
    assert_eq!(sets(&mut session, counts), [[["1"]], [["0"]]]);
    run(&mut session, "EXEC msdb.dbo.sp_delete_backuphistory @oldest_date = '2901-01-01'");
    assert_eq!(sets(&mut session, counts), [[["0"]], [["0"]]]);
}
