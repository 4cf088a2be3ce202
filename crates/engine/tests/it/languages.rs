//! Languages of logins: the one that the client asks for, the login's default, and what a reset of the
//! connection makes of SET LANGUAGE.

use std::sync::Arc;

use crate::client::{Answer, batch, instance, login};
use engine::instance::Instance;
use engine::session::{ClientInfo, LoginRequest, Reset, Session};

fn enter(instance: &Arc<Instance>, user: &str, language: &str) -> Result<Session, Vec<i32>> {
    let request = LoginRequest {
        user: user.to_owned(),
        password: "Secret-1".to_owned(),
        new_password: None,
        database: String::new(),
        language: language.to_owned(),
        client: ClientInfo { odbc: true, ..ClientInfo::default() },
    };
    Session::login(instance, request).map_err(|told| told.iter().map(|e| e.number).collect())
}

fn read(session: &mut Session) -> String {
    const QUERY: &str = "SELECT CONCAT(@@LANGUAGE, ' ', @@DATEFIRST, ' ', s.date_format, ' ', s.language, ' ', DATENAME(month, '20240301')) \
         FROM sys.dm_exec_sessions AS s WHERE s.session_id = @@SPID";
    let answer = batch(session, QUERY);
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    answer.sets[0][0].clone().concat()
}

#[test]
fn login_has_the_language_that_it_asks_for_or_its_default() {
    let instance = instance();
    let mut admin = login(&instance);
    let text = "CREATE LOGIN dane WITH PASSWORD = 'Secret-1', DEFAULT_LANGUAGE = Danish";
    assert!(batch(&mut admin, text).errors.is_empty());
    for (user, language, expected) in [
        ("sa", "", "us_english 7 mdy us_english March"),
        ("sa", "French", "Français 1 dmy Français mars"),
        ("sa", "日本語", "日本語 7 ymd 日本語 03"),
        ("dane", "", "Dansk 1 dmy Dansk marts"),
        ("dane", "svenska", "Svenska 1 ymd Svenska mars"),
    ] {
        let mut session = enter(&instance, user, language).unwrap();
        assert_eq!(read(&mut session), expected, "{user} {language}");
        // SET LANGUAGE lasts until the connection is reset.
        assert!(batch(&mut session, "SET LANGUAGE German").errors.is_empty());
        assert_eq!(read(&mut session), "Deutsch 1 dmy Deutsch März");
        session.reset(Reset::All, &mut Answer::default()).unwrap();
        assert_eq!(read(&mut session), expected, "{user} {language} after a reset");
    }
    assert_eq!(enter(&instance, "sa", "Klingon").err(), Some(vec![2740]));
}
