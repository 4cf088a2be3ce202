//! Predicts throughput on more CPUs than the machine has, from what a request does to serial
//! resources. A model, and labelled as one wherever it is shown;
//! docs/decisions/0050-serial-resource-model.md has its assumptions and its errors.
//!
//! ```text
//!   X(N) = min( N / (L + U t (N - 1) / N),  1 / S )
//! ```
//!
//! X requests per second, N CPUs, L seconds of CPU per request alone, U uses of contended lines per
//! request, t seconds for a line to come from another CPU, S seconds of the busiest serial resource
//! per request: its uses times what each of them keeps others out.

/// How a request uses one shared cache line.
#[derive(Clone, Debug)]
pub struct Serial {
    /// Name of the resource that the line belongs to.
    pub name: String,
    /// How often per request the line must be fetched from another CPU.
    pub uses: f64,
    /// Nanoseconds that each use excludes others, besides the line's transfer.
    pub hold_ns: f64,
}

/// The work of one request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request's name in reports.
    pub name: String,
    /// CPU nanoseconds of a request when it runs alone.
    pub cpu_ns: f64,
    /// The serial resources that it uses.
    pub serials: Vec<Serial>,
}

/// Fitted to the one-word spinlock of folly's table at 8, 16 and 32 threads of two sockets.
pub const PUBLISHED_LINE_NS: f64 = 64.0;
/// The slow end of the published times for two sockets.
pub const SLOW_LINE_NS: f64 = 100.0;
/// A pair of lock and unlock moves a one-word lock's line once; an exclusive lock's line twice,
/// since spinning threads have taken it away in between.
pub const ONE_WORD_USES: f64 = 1.0;
/// See [`ONE_WORD_USES`]: twice per pair.
pub const EXCLUSIVE_USES: f64 = 2.0;
/// Nanoseconds of a lookup under the exclusive lock.
pub const HOLD_NS: f64 = 20.0;

/// Returns the requests per second that the model predicts.
pub fn predict(request: &Request, cpus: f64, line_ns: f64) -> f64 {
    let uses: f64 = request.serials.iter().map(|serial| serial.uses).sum();
    let way = uses * line_ns * (cpus - 1.0) / cpus;
    let parallel = cpus / (request.cpu_ns + way);
    let alone = cpus <= 1.0;
    let slowest = request
        .serials
        .iter()
        .filter(|_| !alone)
        .map(|serial| serial.uses * (line_ns + serial.hold_ns));
    let serial = slowest.fold(0.0, f64::max);
    let capped = if serial > 0.0 { parallel.min(1.0 / serial) } else { parallel };
    capped * 1e9
}
