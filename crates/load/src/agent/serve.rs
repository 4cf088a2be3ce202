//! `Agent`: listens for a coordinator and generates the load that it asks for, one coordinator at a
//! time.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use sos::clock;
use sos::ledger::Accounts;
use sos::sync::{Arc, AtomicBool, AtomicU32, Ordering};
use sos::sys::{Direction, Listener, Peer, Socket, poll_fd};

use super::channel::{Channel, Token};
use super::message::{Job, News, Order};
use crate::link::Target;
use crate::stress::{Fleet, Pace, Pool, Settings, Work};
use crate::{Login, address};

/// Interval between checks whether the agent is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long a coordinator may be silent, in addition to the time allowed for logins.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long the final messages may take.
const GOODBYE_MAX: Duration = Duration::from_secs(5);
/// Most connections that are being greeted at once.
const GUESTS_MAX: u32 = 16;

/// The password that an agent logs in with; passwords are never sent between coordinator and agent.
#[derive(Clone)]
pub struct Password(pub String);

/// An agent on a listening socket.
pub struct Agent {
    listener: Listener,
    address: SocketAddr,
    accounts: Arc<Accounts>,
    shared: Arc<Shared>,
}

/// State shared by an agent's threads.
struct Shared {
    token: Token,
    password: Password,
    /// Whether a coordinator is using the agent.
    is_taken: AtomicBool,
    /// Whether the agent is to stop.
    stops: AtomicBool,
    guests: AtomicU32,
}

impl Agent {
    /// Listens on an address; port 0 takes a free one.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn bind(address: SocketAddr, token: Token, password: Password) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{address}: {error}");
        let listener = Listener::bind(address).map_err(failed)?;
        let address = listener.local_address().map_err(failed)?;
        let shared = Shared {
            token,
            password,
            is_taken: AtomicBool::new(false),
            stops: AtomicBool::new(false),
            guests: AtomicU32::new(0),
        };
        let (accounts, shared) = (Arc::new(Accounts::default()), Arc::new(shared));
        Ok(Self { listener, address, accounts, shared })
    }

    /// Returns the address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves one coordinator after the other until it is to stop; calls `tell` with a line about
    /// each coordinator and its job.
    ///
    /// # Errors
    /// If it can no longer listen.
    pub fn run(
        &self,
        mut tell: impl FnMut(&str),
        is_stopped: impl Fn() -> bool,
    ) -> Result<(), String> {
        let (sender, lines) = mpsc::channel();
        while !is_stopped() {
            let look_ns = clock::deadline_ns(LOOK);
            poll_fd(&self.listener, Direction::Readable, Some(look_ns))
                .map_err(|error| format!("{}: {error}", self.address))?;
            while let Ok((socket, peer)) = self.listener.accept() {
                self.receive(socket, peer, sender.clone())?;
            }
            lines.try_iter().for_each(|line: String| tell(&line));
        }
        // Relaxed, as for all of these flags: they order nothing.
        self.shared.stops.store(true, Ordering::Relaxed);
        drop(sender);
        // Threads in progress send their final messages; one that takes too long is abandoned.
        let end_ns = clock::deadline_ns(GOODBYE_MAX);
        while clock::monotonic_ns() < end_ns {
            match lines.recv_timeout(LOOK) {
                Ok(line) => tell(&line),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }

    fn receive(
        &self,
        socket: Socket,
        peer: Peer,
        lines: mpsc::Sender<String>,
    ) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        if shared.guests.fetch_add(1, Ordering::Relaxed) >= GUESTS_MAX {
            shared.guests.fetch_sub(1, Ordering::Relaxed);
            return Ok(());
        }
        let body = move || {
            let line = match serve(&shared, socket, peer, &lines) {
                Ok(()) => format!("{peer}: has gone"),
                Err(why) => format!("{peer}: {why}"),
            };
            shared.guests.fetch_sub(1, Ordering::Relaxed);
            // The receiver is dropped only when the agent is.
            let _ = lines.send(line);
        };
        sos::thread::spawn(&self.accounts, "agent", body)
            .map(drop)
            .map_err(|error| format!("a thread: {error}"))
    }
}

/// Marks the agent as taken by a coordinator until it is dropped.
struct Taken<'a>(&'a AtomicBool);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Serves one coordinator until it hangs up.
fn serve(
    shared: &Shared,
    socket: Socket,
    peer: Peer,
    lines: &mpsc::Sender<String>,
) -> Result<(), String> {
    let mut channel = Channel::answer(socket, &shared.token)?;
    let Order::Job(job, index, shares) = Order::decode(&channel.take(deadline(SILENCE_MAX))?)?
    else {
        return Err("its first message is not a job".to_owned());
    };
    if shared.is_taken.swap(true, Ordering::Relaxed) {
        let why = "it works for another coordinator".to_owned();
        refuse(&mut channel, &why)?;
        return Err(format!("refused: {why}"));
    }
    let taken = Taken(&shared.is_taken);
    // As in Agent::receive.
    let _ = lines.send(format!("{peer}: a load on {}", job.server));
    let served = Service::new(shared, *job, index, shares).and_then(|service| {
        channel.put(&News::Ready.encode())?;
        service.obey(&mut channel)
    });
    drop(taken);
    match served {
        Ok(()) => Ok(()),
        Err(why) => {
            // If the peer has hung up it does not receive this.
            let _ = refuse(&mut channel, &why);
            Err(why)
        }
    }
}

fn refuse(channel: &mut Channel, why: &str) -> Result<(), String> {
    channel.put(&News::Refused(why.to_owned()).encode())?;
    channel.drain(deadline(GOODBYE_MAX))
}

fn deadline(time: Duration) -> u64 {
    clock::deadline_ns(time)
}

/// A job in progress.
struct Service<'a> {
    shared: &'a Shared,
    target: Target,
    work: Arc<Work>,
    settings: Settings,
    threads: usize,
    patience: Duration,
}

impl<'a> Service<'a> {
    fn new(shared: &'a Shared, job: Job, index: u64, shares: u64) -> Result<Self, String> {
        let address = address::resolve(&job.server)?;
        let encrypt = address::encryption(job.encrypt, &address);
        let password = shared.password.0.clone();
        let login = Login { user: job.user, password, database: job.database };
        let mut work = job.source.prepare()?.work.with_share(index, shares.max(1));
        if job.settings.pool == Pool::Reset {
            work = work.with_reset();
        }
        Ok(Self {
            shared,
            target: Target { address, login, encrypt },
            work: Arc::new(work),
            patience: SILENCE_MAX + job.settings.login_timeout,
            settings: job.settings,
            threads: job.threads,
        })
    }

    /// Executes orders until the coordinator hangs up.
    fn obey(&self, channel: &mut Channel) -> Result<(), String> {
        let mut fleet: Option<Fleet> = None;
        while let Some(order) = self.next_order(channel)? {
            match order {
                Order::Job(..) => return Err("a second job".to_owned()),
                Order::Ping => channel.put(&News::Pong.encode())?,
                // These are for a run that is already over.
                Order::End | Order::Cut => {}
                Order::Level { connections, first, rate } => {
                    // The connections of the previous level are closed first.
                    drop(fleet.take());
                    let pace = match self.settings.pace {
                        Pace::Open { .. } if rate > 0.0 && rate.is_finite() => Pace::Open { rate },
                        Pace::Open { .. } => return Err("a rate is not valid".to_owned()),
                        closed @ Pace::Closed { .. } => closed,
                    };
                    let settings = Settings { connections, pace, ..self.settings.clone() };
                    let (target, work) = (&self.target, &self.work);
                    let mut level =
                        Fleet::with_first(target, work, &settings, self.threads, first)?;
                    // If the coordinator hangs up in the meantime, the next message to it fails.
                    level.connect(&|| self.shared.stops.load(Ordering::Relaxed))?;
                    fleet = Some(level);
                    channel.put(&News::Ready.encode())?;
                }
                Order::Start { delay_ns, duration_ns } => {
                    let begin_ns = clock::monotonic_ns().saturating_add(delay_ns);
                    let fleet = fleet.as_mut().ok_or("a start without connections")?;
                    wait_until(begin_ns);
                    let news = self.run(fleet, channel, duration_ns.map(Duration::from_nanos))?;
                    channel.put(&news.encode())?;
                }
            }
        }
        Ok(())
    }

    /// Waits for the next order; `None` when the coordinator has hung up.
    fn next_order(&self, channel: &mut Channel) -> Result<Option<Order>, String> {
        let end_ns = deadline(self.patience);
        loop {
            match channel.try_take() {
                Ok(Some(payload)) => return Order::decode(&payload).map(Some),
                Ok(None) => channel.flush()?,
                Err(_) => return Ok(None),
            }
            if self.shared.stops.load(Ordering::Relaxed) {
                return Err(STOPPED.to_owned());
            }
            if clock::monotonic_ns() > end_ns {
                return Err("the coordinator does not answer".to_owned());
            }
            poll_fd(channel.socket(), Direction::Readable, Some(deadline(LOOK)))
                .map_err(|error| error.to_string())?;
        }
    }

    /// Runs the load, reports each second, and listens for orders to end.
    fn run(
        &self,
        fleet: &mut Fleet,
        channel: &mut Channel,
        duration: Option<Duration>,
    ) -> Result<News, String> {
        let ears = RefCell::new(Ears { channel, ends: false, cut: None, heard_ns: 0 });
        ears.borrow_mut().heard_ns = clock::monotonic_ns();
        let mut number = 0;
        let tally = fleet.run_telling(
            duration,
            |second, latencies| {
                let mut ears = ears.borrow_mut();
                let news = News::Second(number, *second, Box::new(latencies.clone()));
                number += 1;
                if let Err(why) = ears.channel.put(&news.encode()) {
                    ears.cut = Some(Err(why));
                }
                !ears.ends
            },
            || {
                let mut ears = ears.borrow_mut();
                if self.shared.stops.load(Ordering::Relaxed) {
                    ears.cut = Some(Err(STOPPED.to_owned()));
                }
                ears.listen(self.patience)
            },
        )?;
        match ears.into_inner().cut {
            Some(Err(why)) => Err(why),
            Some(Ok(())) | None => Ok(News::Done(Box::new(tally))),
        }
    }
}

const STOPPED: &str = "the agent has been stopped";

/// The orders received during a run.
struct Ears<'a> {
    channel: &'a mut Channel,
    /// Whether to begin no new requests.
    ends: bool,
    /// Why outstanding answers are no longer awaited: an order, or the loss of the coordinator.
    cut: Option<Result<(), String>>,
    heard_ns: u64,
}

impl Ears<'_> {
    /// Processes orders for `patience`; returns whether the run is to end at once.
    fn listen(&mut self, patience: Duration) -> bool {
        while self.cut.is_none() {
            let heard = self.channel.flush().and_then(|()| self.channel.try_take());
            let order = heard.and_then(|payload| payload.map(|p| Order::decode(&p)).transpose());
            match order {
                Ok(Some(Order::End)) => self.ends = true,
                Ok(Some(Order::Cut)) => self.cut = Some(Ok(())),
                Ok(Some(Order::Ping)) => {
                    if let Err(why) = self.channel.put(&News::Pong.encode()) {
                        self.cut = Some(Err(why));
                    }
                }
                Ok(Some(_)) => {
                    self.cut = Some(Err("an order is not allowed during a run".to_owned()))
                }
                Ok(None) if clock::monotonic_ns() > self.heard_ns + nanoseconds(patience) => {
                    self.cut = Some(Err("the coordinator does not answer".to_owned()));
                }
                Ok(None) => break,
                Err(why) => self.cut = Some(Err(format!("the coordinator is gone: {why}"))),
            }
            self.heard_ns = clock::monotonic_ns();
        }
        self.cut.is_some()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    super::message::nanoseconds(time)
}

fn wait_until(at_ns: u64) {
    let left_ns = at_ns.saturating_sub(clock::monotonic_ns());
    crate::pause(Duration::from_nanos(left_ns));
}
