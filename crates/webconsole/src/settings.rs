//! `Settings`: where the console listens, which names it answers to, and the token of scrapers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The port where none is given.
pub const PORT_DEFAULT: u16 = 8433;
/// The shortest token that is accepted, in characters.
const TOKEN_LENGTH_MIN: usize = 16;

/// The settings of a console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Address and port to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// Names by which browsers may reach it, besides `localhost` and addresses.
    pub hosts: Vec<String>,
    /// The token of scrapers, if there is one.
    pub token: Option<Token>,
}

/// A token that gives the rights of a login, for `/metrics` only.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Name of the login; it needs VIEW SERVER STATE.
    pub login: String,
    /// The secret that a scraper sends.
    pub secret: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("login", &self.login).finish_non_exhaustive()
    }
}

/// Parses an address, a port, or both: `127.0.0.1`, `8433`, `0.0.0.0:8433`, `[::1]:8433`.
///
/// # Errors
/// A sentence about what was expected.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(loopback, port));
    }
    let named = text.strip_prefix("localhost");
    if let Some(rest) = named {
        let port = match rest.strip_prefix(':') {
            Some(port) => port.parse().ok(),
            None => rest.is_empty().then_some(PORT_DEFAULT),
        };
        return port.map(|port| SocketAddr::new(loopback, port)).ok_or_else(expected);
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse() {
        return Ok(SocketAddr::new(ip, PORT_DEFAULT));
    }
    text.parse().map_err(|_| expected())
}

fn expected() -> String {
    "expected an address, a port, or both, such as 127.0.0.1:8433".to_owned()
}

/// Parses the text of a token file: the name of a login and a secret, separated by a blank.
///
/// # Errors
/// What is wrong with it.
pub fn parse_token(text: &str) -> Result<Token, String> {
    let (login, secret) = text
        .trim()
        .rsplit_once(char::is_whitespace)
        .ok_or("expected the name of a login, a blank and a token")?;
    let is_plain = secret.bytes().all(|byte| byte.is_ascii_graphic());
    if secret.len() < TOKEN_LENGTH_MIN || !is_plain {
        return Err(format!("the token must have {TOKEN_LENGTH_MIN} ASCII characters or more"));
    }
    Ok(Token { login: login.trim().to_owned(), secret: secret.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_a_port_or_both() {
        let parsed = |text| parse_address(text).map(|address| address.to_string());
        assert_eq!(parsed("9000").as_deref(), Ok("127.0.0.1:9000"));
        assert_eq!(parsed("0.0.0.0").as_deref(), Ok("0.0.0.0:8433"));
        assert_eq!(parsed("0.0.0.0:1").as_deref(), Ok("0.0.0.0:1"));
        assert_eq!(parsed("::1").as_deref(), Ok("[::1]:8433"));
        assert_eq!(parsed("[::1]").as_deref(), Ok("[::1]:8433"));
        assert_eq!(parsed("[::1]:9").as_deref(), Ok("[::1]:9"));
        assert_eq!(parsed("localhost").as_deref(), Ok("127.0.0.1:8433"));
        assert_eq!(parsed("localhost:77").as_deref(), Ok("127.0.0.1:77"));
        for wrong in ["", "example.com", "1.2.3.4:x", "localhost:", "localhosts", "99999", "::1:x"]
        {
            assert!(parse_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_has_a_login_and_a_long_secret() {
        let token = parse_token("a login  0123456789abcdef\n").expect("a token");
        assert_eq!((token.login.as_str(), token.secret.as_str()), ("a login", "0123456789abcdef"));
        assert!(parse_token("0123456789abcdef").is_err(), "no login");
        assert!(parse_token("login short").is_err());
        assert!(!format!("{token:?}").contains("0123"), "a secret is not printed");
    }
}
