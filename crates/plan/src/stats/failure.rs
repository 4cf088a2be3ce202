//! `Failure`: how an execution has ended that has not succeeded.

/// How an execution has ended that has not succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The client has sent an attention, or was gone.
    Aborted,
    /// An error has ended it.
    Exception,
}

impl Failure {
    /// Both kinds, in index order.
    pub const ALL: [Self; Self::COUNT] = [Self::Aborted, Self::Exception];
    /// Number of kinds in [`Failure::ALL`].
    pub const COUNT: usize = 2;

    /// Returns its index in [`Failure::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}
