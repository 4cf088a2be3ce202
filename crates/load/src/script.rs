//! `Script`: encoded requests, divided among connections.

/// Requests of one kind: each connection has `per_connection` different ones and sends them in
/// turn.
#[derive(Clone, Debug)]
pub struct Script {
    requests: Vec<Vec<u8>>,
    per_connection: usize,
    answer_bytes: Option<u64>,
}

impl Script {
    /// Makes a script in which connection `c` sends `per_connection` requests, starting at index `c
    /// * per_connection`.
    ///
    /// # Panics
    /// If there is no request.
    pub fn new(requests: Vec<Vec<u8>>, per_connection: usize) -> Self {
        assert!(!requests.is_empty() && per_connection > 0, "a script has requests");
        Self { requests, per_connection, answer_bytes: None }
    }

    /// Makes a script of one request that all connections send.
    pub fn of_one(request: Vec<u8>) -> Self {
        Self::new(vec![request], 1)
    }

    /// Sets the length that every answer must have; any other is decoded and counted.
    #[must_use]
    pub fn with_answer_bytes(mut self, bytes: u64) -> Self {
        self.answer_bytes = Some(bytes);
        self
    }

    /// Returns the length that every answer must have, if it is known.
    pub fn answer_bytes(&self) -> Option<u64> {
        self.answer_bytes
    }

    /// Returns all requests in order.
    pub fn requests(&self) -> &[Vec<u8>] {
        &self.requests
    }

    /// Returns the request that a connection sends at a turn.
    #[inline]
    pub fn request(&self, connection: usize, turn: usize) -> &[u8] {
        let own = connection * self.per_connection + turn % self.per_connection;
        &self.requests[own % self.requests.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_cycles_through_requests_of_its_own() {
        let script = Script::new((0..4_u8).map(|byte| vec![byte]).collect(), 2);
        let sent = |connection| -> Vec<u8> {
            (0..3).map(|turn| script.request(connection, turn)[0]).collect()
        };
        assert_eq!(sent(0), [0, 1, 0]);
        assert_eq!(sent(1), [2, 3, 2]);
        assert_eq!(sent(2), [0, 1, 0], "more connections than requests begin again");
    }
}
