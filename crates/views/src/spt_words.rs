//! The words of `master..spt_values` by type, with their numbers.

/// A type and its words with their numbers.
pub(crate) type Words = (&'static str, &'static [(&'static str, i32)]);

/// Lock modes, resources, states and owners, as `sp_lock` and `syslockinfo` number them, and the
/// status bits of databases that `sp_helpdb` shows as words.
pub(crate) static WORDS: &[Words] = &[
    (
        "L",
        &[
            ("LOCK TYPES", -1),
            ("NULL", 1),
            ("Sch-S", 2),
            ("Sch-M", 3),
            ("S", 4),
            ("U", 5),
            ("X", 6),
            ("IS", 7),
            ("IU", 8),
            ("IX", 9),
            ("SIU", 10),
            ("SIX", 11),
            ("UIX", 12),
            ("BU", 13),
            ("RangeS-S", 14),
            ("RangeS-U", 15),
            ("RangeIn-Null", 16),
            ("RangeIn-S", 17),
            ("RangeIn-U", 18),
            ("RangeIn-X", 19),
            ("RangeX-S", 20),
            ("RangeX-U", 21),
            ("RangeX-X", 22),
        ],
    ),
    (
        "LR",
        &[
            ("LOCK RESOURCES", -1),
            ("NUL", 1),
            ("DB", 2),
            ("FIL", 3),
            ("IDX", 4),
            ("TAB", 5),
            ("PAG", 6),
            ("KEY", 7),
            ("EXT", 8),
            ("RID", 9),
            ("APP", 10),
        ],
    ),
    ("LS", &[("LOCK REQ STATUS", -1), ("GRANT", 1), ("CNVT", 2), ("WAIT", 3)]),
    ("LO", &[("LOCK OWNER", -1), ("Xact", 1), ("Crsr", 2), ("Sess", 3)]),
    (
        "D",
        &[
            ("DATABASE STATUS", -1),
            ("autoclose", 1),
            ("select into/bulkcopy", 4),
            ("trunc. log on chkpt", 8),
            ("torn page detection", 16),
            ("loading", 32),
            ("pre recovery", 64),
            ("recovering", 128),
            ("not recovered", 256),
            ("offline", 512),
            ("read only", 1_024),
            ("dbo use only", 2_048),
            ("single user", 4_096),
            ("emergency mode", 32_768),
            ("autoshrink", 4_194_304),
            ("cleanly shutdown", 1_073_741_824),
        ],
    ),
];
