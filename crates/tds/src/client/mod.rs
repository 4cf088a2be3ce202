//! A small client: requests to bytes, responses to tokens. No sockets.
//!
//! Made for tests and for generating load, where a request is encoded once and sent many times and a
//! response is only looked at for its end. Responses are put together by [`crate::MessageReader`],
//! decoded by [`TokenReader`], read while they come by [`TokenStream`], or skimmed by [`DoneScanner`].

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
