//! `Fleet`: a load put by several threads, each with a share of the connections, and reported as one.

use std::sync::mpsc;

use hdrhistogram::Histogram;
use sos::ledger::Accounts;
use sos::sync::{Arc, AtomicBool, Ordering};
use std::time::Duration;

use super::driver::{Driver, Pace, Settings};
use super::tally::{Second, Tally};
use super::work::Work;
use crate::link::Target;
use crate::outcome::latencies;

/// Seconds by which one may be ahead of another before its are in the totals only.
const SECONDS_APART_MAX: usize = 600;
/// How often the caller looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Drivers that run at the same time.
pub struct Fleet {
    drivers: Vec<Driver<Arc<Work>>>,
    accounts: Arc<Accounts>,
}

/// What a thread says.
enum News {
    /// A second is over; its number, and what was in it.
    Second(usize, Second, Histogram<u64>),
    /// It is done.
    Done(Box<Driver<Arc<Work>>>, Box<Result<Tally, String>>),
}

/// What a thread is told.
#[derive(Default)]
struct Orders {
    /// Nothing new is to begin.
    ends: AtomicBool,
    /// Nothing is waited for any more.
    cuts: AtomicBool,
}

impl Fleet {
    /// Begins to open the connections of the settings, shared out among so many threads.
    ///
    /// # Errors
    /// When the machine refuses descriptors.
    pub fn new(
        target: &Target,
        work: &Arc<Work>,
        settings: &Settings,
        threads: usize,
    ) -> Result<Self, String> {
        Self::with_first(target, work, settings, threads, 0)
    }

    /// As [`Self::new`], for the connections from this one on of a load that other processes put too.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn with_first(
        target: &Target,
        work: &Arc<Work>,
        settings: &Settings,
        threads: usize,
        first: usize,
    ) -> Result<Self, String> {
        let threads = threads.clamp(1, settings.connections.max(1));
        let driver = |index: usize| {
            let (before, connections) = share(settings.connections, threads, index);
            let pace = match settings.pace {
                Pace::Open { rate } => {
                    Pace::Open { rate: rate * part(connections, settings.connections) }
                }
                closed @ Pace::Closed { .. } => closed,
            };
            let settings = Settings { connections, pace, ..settings.clone() };
            Driver::with_first(target.clone(), Arc::clone(work), settings, first + before)
        };
        let drivers = (0..threads).map(driver).collect::<Result<_, _>>()?;
        Ok(Self { drivers, accounts: Arc::new(Accounts::default()) })
    }

    /// Logs every connection in.
    ///
    /// # Errors
    /// The first reason for which one could not, if none of a thread's could within the time for logins; or that it
    /// was cut.
    pub fn connect(&mut self, is_cut: &dyn Fn() -> bool) -> Result<(), String> {
        if let [driver] = self.drivers.as_mut_slice() {
            return driver.connect_until(is_cut);
        }
        let connect = |driver: &mut Driver<Arc<Work>>, orders: &Orders, _: &mpsc::Sender<News>| {
            // Relaxed, as below.
            let is_cut = || orders.cuts.load(Ordering::Relaxed);
            driver.connect_until(&is_cut).map(|()| Tally::new(0))
        };
        self.all(connect, |_, _| true, is_cut).map(drop)
    }

    /// Puts the load, as [`Driver::run`] does.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn run(
        &mut self,
        duration: Option<Duration>,
        mut each_second: impl FnMut(&Second) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Result<Tally, String> {
        self.run_telling(duration, |second, _| each_second(second), is_cut)
    }

    /// As [`Self::run`], telling the latencies of each second as well.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn run_telling(
        &mut self,
        duration: Option<Duration>,
        each_second: impl FnMut(&Second, &Histogram<u64>) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Result<Tally, String> {
        if let [driver] = self.drivers.as_mut_slice() {
            return Ok(driver.run_telling(duration, each_second, is_cut));
        }
        let run =
            move |driver: &mut Driver<Arc<Work>>, orders: &Orders, news: &mpsc::Sender<News>| {
                let mut number = 0;
                let tell = |second: &Second, latencies: &Histogram<u64>| {
                    // The receiver is gone only when the run is.
                    let _ = news.send(News::Second(number, *second, latencies.clone()));
                    number += 1;
                    // Relaxed, here and below: a flag that orders nothing.
                    !orders.ends.load(Ordering::Relaxed)
                };
                Ok(driver.run_telling(duration, tell, || orders.cuts.load(Ordering::Relaxed)))
            };
        self.all(run, each_second, is_cut)
    }

    /// Lets every driver do something on a thread of its own.
    fn all(
        &mut self,
        job: impl Fn(&mut Driver<Arc<Work>>, &Orders, &mpsc::Sender<News>) -> Result<Tally, String>
        + Clone
        + Send
        + 'static,
        mut each_second: impl FnMut(&Second, &Histogram<u64>) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Result<Tally, String> {
        let orders = Arc::new(Orders::default());
        let (sender, receiver) = mpsc::channel();
        let threads = self.drivers.len();
        for (index, mut driver) in self.drivers.drain(..).enumerate() {
            let (job, orders, sender) = (job.clone(), Arc::clone(&orders), sender.clone());
            let body = move || {
                let result = job(&mut driver, &orders, &sender);
                // As above.
                let _ = sender.send(News::Done(Box::new(driver), Box::new(result)));
            };
            sos::thread::spawn(&self.accounts, &format!("load {index}"), body)
                .map_err(|error| format!("a thread: {error}"))?;
        }
        drop(sender);
        let (mut whole, mut seconds, mut failed) = (None::<Tally>, Seconds::new(threads), None);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(News::Second(number, second, latencies)) => {
                    if let Some((second, latencies)) = seconds.add(number, second, &latencies)
                        && !each_second(&second, &latencies)
                    {
                        orders.ends.store(true, Ordering::Relaxed);
                    }
                }
                Ok(News::Done(driver, result)) => {
                    self.drivers.push(*driver);
                    match (*result, &mut whole) {
                        (Ok(tally), Some(whole)) => whole.absorb(&tally),
                        (Ok(tally), none) => *none = Some(tally),
                        (Err(why), _) => failed = Some(why),
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if is_cut() {
                orders.cuts.store(true, Ordering::Relaxed);
            }
        }
        if let Some(why) = failed {
            return Err(why);
        }
        let mut whole = whole.ok_or("a thread has ended without a word")?;
        whole.seconds = seconds.done;
        Ok(whole)
    }
}

/// Seconds of several threads or processes, put together.
pub(crate) struct Seconds {
    threads: usize,
    /// The seconds that not all threads have told yet: how many have.
    open: Vec<(usize, Second, Histogram<u64>)>,
    first_open: usize,
    /// Those that all have told.
    pub(crate) done: Vec<Second>,
}

impl Seconds {
    /// Of so many that will tell theirs.
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads, open: Vec::new(), first_open: 0, done: Vec::new() }
    }

    /// Adds a thread's second; returns the whole one when it was the last to tell.
    pub(crate) fn add(
        &mut self,
        number: usize,
        part: Second,
        latencies_of: &Histogram<u64>,
    ) -> Option<(Second, Histogram<u64>)> {
        let at = number.checked_sub(self.first_open)?;
        if at > SECONDS_APART_MAX {
            return None;
        }
        while self.open.len() <= at {
            self.open.push((0, Second::default(), latencies()));
        }
        let (told, second, all) = &mut self.open[at];
        *told += 1;
        // The same bounds, so that nothing is out of range.
        let _ = all.add(latencies_of);
        second.at_ns = second.at_ns.max(part.at_ns);
        second.wall_ns = second.wall_ns.max(part.wall_ns);
        second.errors += part.errors;
        if at > 0 || *told < self.threads {
            return None;
        }
        let (_, second, all) = self.open.remove(0);
        self.first_open += 1;
        let whole = second.with(&all);
        self.done.push(whole);
        Some((whole, all))
    }
}

/// A share of a whole: how many belong to those before it, and how many to it.
pub(crate) fn share(whole: usize, shares: usize, index: usize) -> (usize, usize) {
    let (each, more) = (whole / shares, whole % shares);
    (each * index + more.min(index), each + usize::from(index < more))
}

#[expect(clippy::cast_precision_loss, reason = "connections are few")]
pub(crate) fn part(share: usize, whole: usize) -> f64 {
    share as f64 / whole.max(1) as f64
}
