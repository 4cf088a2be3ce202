//! A small client: encodes requests and decodes responses. No sockets.
//!
//! Made for tests and load generators, where a request is encoded once and sent many times, and of
//! a response often only the end matters. [`crate::MessageReader`] assembles responses;
//! [`TokenReader`] decodes a whole one, [`TokenStream`] one that is still arriving, and
//! [`DoneScanner`] finds its end only.

pub mod bulk;
pub mod login;
pub mod request;
pub mod scan;
pub mod stream;
pub mod token;

pub use bulk::BulkBuilder;
pub use login::login;
pub use request::{ClientSettings, RpcBuilder, attention, batch, prelogin, set_reset, transaction};
pub use scan::{DoneScanner, FinalDone};
pub use stream::TokenStream;
pub use token::{EnvChanged, ResultColumn, Token, TokenReader};
