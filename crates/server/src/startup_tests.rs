//! Logins while the server recovers its data from a disk that is slow.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use durable::{Folder, Settings};
use load::Login;
use load::ask::Asker;
use load::link::{Encrypt, Fault, Target};
use simdisk::SimDisk;
use sos::park;
use sos::sched::{Machine, MachineConfig};
use sos::sync::Arc;
use sos::wait::WaitType;
use types::Value;

use crate::options::{Certificate, Encryption, Limits, LockMode, Options, Password};
use crate::shared::{Door, Seats, Shared};
use crate::{Recovery, accept, listen, log, open, shared, tls};

const PASSWORD: &str = "Slow-Disk1";
/// The name of the folder in the server's log.
const NAME: &str = "a slow disk";
/// The size of a segment of the log: small, so that there are several.
const SEGMENT_BYTES: u64 = 1 << 16;
/// The file that the recovery waits for. It has read two before.
const HELD: &str = "log/00000000000000000003.log";
/// How long a client waits, more than any server here makes it wait.
const PATIENCE: Duration = Duration::from_secs(60);
/// Half of it is how long the impatient listener lets a login wait.
const SHORT: Duration = Duration::from_secs(4);

/// A server on a simulated disk, from its start to its end.
struct Life {
    machine: Arc<Machine>,
    shared: Arc<Shared>,
    address: SocketAddr,
}

impl Life {
    fn start() -> Self {
        let config = MachineConfig { schedulers: 2, ..MachineConfig::default() };
        let machine = Arc::new(Machine::start(&config).expect("the machine starts"));
        let shared = shared(&options(), &machine).expect("the engine starts");
        let shared = Arc::new(shared);
        let address = serve(&machine, &shared);
        Self { machine, shared, address }
    }

    /// Listens at another port, where logins wait for a short time only.
    fn listen_impatiently(&self) -> SocketAddr {
        let Shared { instance, startup, encryption, server_name, .. } = &*self.shared;
        let impatient = Shared {
            instance: Arc::clone(instance),
            startup: Arc::clone(startup),
            tls: tls::Tls::new(&Certificate::SelfSigned, server_name).expect("no files"),
            encryption: *encryption,
            limits: Limits { login_timeout: SHORT, ..Limits::default() },
            server_name: server_name.clone(),
            client_log: log::ClientLog::default(),
            seats: Seats::new(10),
            mars: Seats::new(10),
            admin_doors: Seats::new(2),
            admins: Seats::new(1),
        };
        serve(&self.machine, &Arc::new(impatient))
    }

    fn recover(&self, disk: &SimDisk) {
        let folder = Folder::on(Arc::new(disk.clone()), NAME).expect("a folder");
        let settings = Settings { segment_bytes: SEGMENT_BYTES, ..Settings::default() };
        let recovery = Recovery { folder, settings };
        let password = Password::Given(PASSWORD.to_owned());
        open(&self.shared, Some(recovery), &password).expect("it recovers");
        self.shared.startup.end();
    }

    /// Ends the process, without a checkpoint.
    fn kill(self, disk: &SimDisk) {
        disk.kill();
        self.machine.stop(Duration::ZERO);
        self.shared.instance.durable().expect("it has a folder").stop_at_once();
        disk.restart();
    }
}

fn options() -> Options {
    Options {
        address: Ipv4Addr::LOCALHOST.into(),
        port: 0,
        admin_port: None,
        socket: None,
        sa_password: Password::Given(PASSWORD.to_owned()),
        data: None,
        memory_max: 1 << 30,
        memory_model: sos::memory::MemoryModel::default(),
        experiments: Vec::new(),
        query_memory_max: None,
        schedulers: None,
        ledger: sos::ledger::SourceChoice::Auto,
        sampling_rate_hz: 0,
        lock_mode: LockMode::default(),
        encryption: Encryption::Off,
        certificate: Certificate::SelfSigned,
        limits: Limits { login_timeout: PATIENCE, ..Limits::default() },
        start_in_log: false,
    }
}

fn serve(machine: &Machine, shared: &Arc<Shared>) -> SocketAddr {
    let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
    let address = listener.local_address().expect("it has an address");
    accept(machine, listener, shared, Door::Clients).expect("it listens");
    address
}

fn log_in(address: SocketAddr) -> Result<Asker, Fault> {
    let login =
        Login { user: "sa".to_owned(), password: PASSWORD.to_owned(), database: String::new() };
    let target = Target { address: address.into(), login, encrypt: Encrypt::Off };
    Asker::connect_as(&target, "startup test", PATIENCE)
}

fn nap() {
    park::sleep(Duration::from_millis(5), WaitType::SleepTask, None);
}

#[test]
fn a_login_waits_for_the_recovery_and_is_told_how_far_it_is() {
    let disk = SimDisk::new(1);
    let life = Life::start();
    life.recover(&disk);
    let mut client = log_in(life.address).expect("it logs in");
    client.ask("CREATE TABLE kept (id int IDENTITY PRIMARY KEY, pad varchar(8000))").expect("made");
    for _ in 0..8 {
        client
            .ask("INSERT kept SELECT TOP 5 REPLICATE('x', 8000) FROM sys.databases, sys.types")
            .expect("inserted");
    }
    drop(client);
    life.kill(&disk);

    let life = Life::start();
    let impatient = life.listen_impatiently();
    disk.hold_reads(Some(HELD));
    std::thread::scope(|scope| {
        let recovering = scope.spawn(|| life.recover(&disk));
        while life.shared.startup.progress.read().seconds_left.is_none() {
            nap();
        }
        // The recovery is in the middle of the log, and stays there.
        let refused = log_in(impatient).err().expect("it is not ready");
        assert_eq!(refused.number, Some(17_187), "{}", refused.text);
        let says = ["Recovery is ", "% complete (approximately ", "remain). Phase 1 of 3."];
        assert!(says.iter().all(|part| refused.text.contains(part)), "{}", refused.text);
        let waiting = scope.spawn(|| log_in(life.address));
        for _ in 0..20 {
            nap();
        }
        assert!(!waiting.is_finished() && !recovering.is_finished(), "both wait for the disk");
        disk.hold_reads(None);
        let client = waiting.join().expect("no panic");
        let mut client = client.unwrap_or_else(|fault| panic!("{}", fault.text));
        let answer = client.ask("SELECT COUNT(*) FROM kept").expect("it is served");
        assert_eq!(answer.rows(), [[Value::Int(40)]]);
        recovering.join().expect("no panic");
    });
    let lines: Vec<String> = sos::error_log::lines().into_iter().map(|line| line.text).collect();
    for part in ["starts", "is complete: 40 rows"] {
        let line = format!("Recovery of {NAME} {part}");
        assert!(lines.iter().any(|text| text.starts_with(&line)), "{line}: {lines:?}");
    }
    life.kill(&disk);
}
