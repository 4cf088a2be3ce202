//! `Crew`: the coordinator's side of distributed load: several agents generate one load, reported
//! as one.

use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use sos::clock;
use sos::sys::{Direction, Events, Poller, Timeout, poll_fd};

use super::channel::{Channel, GREETING_MAX, Token};
use super::message::{Job, News, Order, nanoseconds};
use crate::outcome::latencies;
use crate::stress::{Pace, Second, Seconds, Settings, Tally, part, share};

type Result<T> = std::result::Result<T, String>;

/// How long before a run the start order is sent, in addition to the longest round trip.
const LEAD: Duration = Duration::from_millis(300);
/// How long an agent that generates load may be silent: it reports every second.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// How long the final messages after a cut may take.
const GOODBYE_MAX: Duration = Duration::from_secs(5);
/// Interval between checks whether the user wants to stop.
const LOOK_NS: u64 = 20_000_000;
/// Interval of the pings that show agents that the coordinator is alive.
const PING_NS: u64 = 1_000_000_000;
/// Pings that measure the round trip.
const PINGS: usize = 5;
const EVENTS_MAX: usize = 64;

/// The agents, and the job that they have accepted.
pub struct Crew {
    members: Vec<Member>,
    settings: Settings,
    kinds: usize,
    trouble: Option<String>,
}

/// An agent with its channel.
struct Member {
    name: String,
    channel: Channel,
    /// The shortest round trip measured.
    round_trip_ns: u64,
    /// Its connections at the current level.
    connections: usize,
}

/// An agent's results so far during a run.
struct Part {
    heard_ns: u64,
    /// Latencies of the seconds reported, in case no tally follows.
    latencies: Histogram<u64>,
    seconds: u64,
    /// When the last of these seconds ended.
    at_ns: u64,
}

impl Crew {
    /// Connects to agents and gives each its share of a job; `kinds` is the number of request kinds
    /// of the job.
    ///
    /// # Errors
    /// The first agent that cannot be reached or refuses, and why.
    pub fn gather(
        addresses: &[(String, SocketAddr)],
        token: &Token,
        job: &Job,
        kinds: usize,
    ) -> Result<Self> {
        let shares = u64::try_from(addresses.len()).unwrap_or(u64::MAX);
        let mut members = Vec::with_capacity(addresses.len());
        for ((name, address), index) in addresses.iter().zip(0..) {
            let named = |why: String| of_agent(name, &why);
            let channel = Channel::open(*address, token).map_err(named)?;
            let mut member =
                Member { name: name.clone(), channel, round_trip_ns: u64::MAX, connections: 0 };
            member.send(&Order::Job(Box::new(job.clone()), index, shares))?;
            member.expect_ready(GREETING_MAX, &|| false)?;
            member.measure()?;
            members.push(member);
        }
        Ok(Self { members, settings: job.settings.clone(), kinds, trouble: None })
    }

    /// Returns what went wrong with an agent during a run, if anything: then the load was smaller
    /// than asked for.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Lets all agents together log in `connections` connections.
    ///
    /// # Errors
    /// The first agent that could not, and why; or that it was cut.
    pub fn connect(&mut self, connections: usize, is_cut: &dyn Fn() -> bool) -> Result<()> {
        let shares = self.members.len();
        for (index, member) in self.members.iter_mut().enumerate() {
            let (first, own) = share(connections, shares, index);
            member.connections = own;
            let rate = match self.settings.pace {
                Pace::Open { rate } => rate * part(own, connections),
                Pace::Closed { .. } => 0.0,
            };
            if own > 0 {
                member.send(&Order::Level { connections: own, first, rate })?;
            }
        }
        // Logins may take that long; the agents get one second more.
        let patience = self.settings.login_timeout + GREETING_MAX;
        self.members
            .iter_mut()
            .filter(|member| member.connections > 0)
            .try_for_each(|member| member.expect_ready(patience, is_cut))
    }

    /// Runs the load, as [`crate::stress::Fleet::run`] does. If an agent is lost, the others stop
    /// as well.
    ///
    /// # Errors
    /// If no agent could begin.
    pub fn run(
        &mut self,
        duration: Option<Duration>,
        each_second: impl FnMut(&Second) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Result<Tally> {
        self.start(duration)?;
        let poller = Poller::new().map_err(|error| format!("epoll: {error}"))?;
        let mut run = Run::new(self, each_second);
        for (member, token) in run.crew.members.iter().zip(0..) {
            let added = poller.add(member.channel.socket(), token);
            added.map_err(|error| format!("epoll_ctl: {error}"))?;
        }
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut ping_ns = clock::monotonic_ns() + PING_NS;
        while run.parts.iter().any(Option::is_some) {
            poller.wait(&mut events, Timeout::After(LOOK_NS));
            run.listen();
            let now_ns = clock::monotonic_ns();
            if now_ns >= ping_ns {
                ping_ns = now_ns + PING_NS;
                run.tell_all(&Order::Ping);
            }
            run.look_at_clocks(now_ns);
            if run.cut_ns.is_none() && is_cut() {
                run.cut_ns = Some(now_ns);
                run.tell_all(&Order::Cut);
            }
        }
        let Run { mut whole, seconds, .. } = run;
        whole.seconds = seconds.done;
        // A new tally counts one thread, that of its maker.
        whole.threads -= 1;
        Ok(whole)
    }

    /// Sends every agent the start order, delayed so that all begin at the same moment, assuming
    /// that the way to an agent takes half a round trip.
    fn start(&mut self, duration: Option<Duration>) -> Result<()> {
        let working = || self.members.iter().filter(|member| member.connections > 0);
        let longest_ns = working().map(|member| member.round_trip_ns).max().unwrap_or(0);
        let begin_ns = clock::deadline_ns(LEAD).saturating_add(longest_ns);
        for member in self.members.iter_mut().filter(|member| member.connections > 0) {
            let left_ns = begin_ns.saturating_sub(clock::monotonic_ns());
            let delay_ns = left_ns.saturating_sub(member.round_trip_ns / 2);
            let duration_ns = duration.map(nanoseconds);
            member.send(&Order::Start { delay_ns, duration_ns })?;
        }
        Ok(())
    }
}

fn of_agent(name: &str, why: &str) -> String {
    format!("agent {name}: {why}")
}

impl Member {
    fn send(&mut self, order: &Order) -> Result<()> {
        let end_ns = clock::deadline_ns(GREETING_MAX);
        let sent = self.channel.put(&order.encode()).and_then(|()| self.channel.drain(end_ns));
        sent.map_err(|why| of_agent(&self.name, &why))
    }

    /// Waits briefly for a message; returns whether one has begun to arrive, or the agent is lost.
    fn has_word(&self) -> Result<bool> {
        let look_ns = clock::monotonic_ns() + LOOK_NS;
        let came = poll_fd(self.channel.socket(), Direction::Readable, Some(look_ns));
        Ok(self.channel.holds_some()
            || came.map_err(|error| of_agent(&self.name, &error.to_string()))?)
    }

    fn take(&mut self, patience: Duration) -> Result<News> {
        let payload = self.channel.take(clock::deadline_ns(patience));
        payload.and_then(|payload| News::decode(&payload)).map_err(|why| of_agent(&self.name, &why))
    }

    fn expect_ready(&mut self, patience: Duration, is_cut: &dyn Fn() -> bool) -> Result<()> {
        let end_ns = clock::deadline_ns(patience);
        while !self.has_word()? {
            if is_cut() {
                return Err("stopped before the load began".to_owned());
            }
            if clock::monotonic_ns() > end_ns {
                return Err(of_agent(&self.name, "it does not answer"));
            }
        }
        match self.take(patience)? {
            News::Ready => Ok(()),
            News::Refused(why) => Err(of_agent(&self.name, &why)),
            News::Pong | News::Second(..) | News::Done(_) => {
                Err(of_agent(&self.name, "it sent an unexpected message"))
            }
        }
    }

    /// Measures the round trip to each agent.
    fn measure(&mut self) -> Result<()> {
        for _ in 0..PINGS {
            let begin_ns = clock::monotonic_ns();
            self.send(&Order::Ping)?;
            let News::Pong = self.take(GREETING_MAX)? else {
                return Err(of_agent(&self.name, "it does not answer a ping"));
            };
            self.round_trip_ns = self.round_trip_ns.min(clock::monotonic_ns() - begin_ns);
        }
        Ok(())
    }
}

/// A run in progress.
struct Run<'a, F> {
    crew: &'a mut Crew,
    each_second: F,
    /// Agents that are still running, in the order of the members; `None` for the others.
    parts: Vec<Option<Part>>,
    seconds: Seconds,
    whole: Tally,
    has_ended: bool,
    cut_ns: Option<u64>,
}

impl<'a, F: FnMut(&Second) -> bool> Run<'a, F> {
    fn new(crew: &'a mut Crew, each_second: F) -> Self {
        let heard_ns = clock::monotonic_ns();
        let part = || Part { heard_ns, latencies: latencies(), seconds: 0, at_ns: 0 };
        let parts: Vec<_> =
            crew.members.iter().map(|member| (member.connections > 0).then(part)).collect();
        let working = parts.iter().flatten().count();
        let whole = Tally::new(crew.kinds);
        let seconds = Seconds::new(working);
        Self { crew, each_second, parts, seconds, whole, has_ended: false, cut_ns: None }
    }

    /// Processes every message that has arrived.
    fn listen(&mut self) {
        for index in 0..self.parts.len() {
            while self.parts[index].is_some() {
                let channel = &mut self.crew.members[index].channel;
                let came = channel.flush().and_then(|()| channel.try_take());
                match came.and_then(|payload| payload.map(|p| News::decode(&p)).transpose()) {
                    Ok(None) => break,
                    Ok(Some(news)) => self.hear(index, news),
                    Err(why) => self.lose(index, &why),
                }
            }
        }
    }

    fn hear(&mut self, index: usize, news: News) {
        let Some(part) = &mut self.parts[index] else { return };
        part.heard_ns = clock::monotonic_ns();
        match news {
            News::Pong => {}
            News::Second(number, second, latencies_of) => {
                part.seconds += 1;
                part.at_ns = second.at_ns;
                // Both histograms have the same bounds, so adding cannot fail.
                let _ = part.latencies.add(&*latencies_of);
                let whole = self.seconds.add(number, second, &latencies_of);
                if let Some((second, _)) = whole
                    && !(self.each_second)(&second)
                {
                    self.end();
                }
            }
            News::Done(tally) if tally.kinds.len() == self.whole.kinds.len() => {
                self.whole.absorb(&tally);
                self.parts[index] = None;
                if self.crew.settings.stop_on_error && tally.troubles() > 0 {
                    self.end();
                }
            }
            News::Done(_) | News::Ready => self.lose(index, "it sent an unexpected message"),
            News::Refused(why) => self.lose(index, &why),
        }
    }

    /// Orders every agent to begin no new requests.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.tell_all(&Order::End);
        }
    }

    fn tell_all(&mut self, order: &Order) {
        let payload = order.encode();
        for index in 0..self.parts.len() {
            if self.parts[index].is_some()
                && let Err(why) = self.crew.members[index].channel.put(&payload)
            {
                self.lose(index, &why);
            }
        }
    }

    /// Keeps the results that a lost agent has reported, and ends the run.
    fn lose(&mut self, index: usize, why: &str) {
        let Some(part) = self.parts[index].take() else { return };
        let member = &self.crew.members[index];
        let _ = self.whole.latencies.add(&part.latencies);
        self.whole.wall_ns = self.whole.wall_ns.max(part.at_ns);
        self.whole.fault(&format!(
            "agent {} was lost; its {} seconds count in the first line only",
            member.name, part.seconds
        ));
        let trouble = of_agent(&member.name, &format!("lost after {} s: {why}", part.seconds));
        self.crew.trouble.get_or_insert(trouble);
        self.end();
    }

    fn look_at_clocks(&mut self, now_ns: u64) {
        let is_late =
            |since_ns: u64, most: Duration| now_ns.saturating_sub(since_ns) > nanoseconds(most);
        for index in 0..self.parts.len() {
            let Some(part) = &self.parts[index] else { continue };
            let is_lost = match self.cut_ns {
                Some(cut_ns) => is_late(cut_ns, GOODBYE_MAX),
                None => is_late(part.heard_ns, SILENCE_MAX),
            };
            if is_lost {
                self.lose(index, "it does not answer");
            }
        }
    }
}
