//! Functions that SQL Server has and Clearway has not: they fail with error 40517, which names them, and
//! not as names that nobody knows.

/// Upper-case names, sorted.
const NAMES: &[&str] = &[
    "@@DEFAULT_LANGID",
    "@@DEF_SORTORDER_ID",
    "@@PACKET_ERRORS",
    "@@PACK_RECEIVED",
    "@@PACK_SENT",
    "AI_GENERATE_EMBEDDINGS",
    "ASSEMBLYPROPERTY",
    "ASYMKEYPROPERTY",
    "ASYMKEY_ID",
    "BASE64_DECODE",
    "BASE64_ENCODE",
    "CERTENCODED",
    "CERTPRIVATEKEY",
    "CERTPROPERTY",
    "CERT_ID",
    "CHANGE_TRACKING_CURRENT_VERSION",
    "CHANGE_TRACKING_IS_COLUMN_IN_MASK",
    "CHANGE_TRACKING_MIN_VALID_VERSION",
    "CURRENT_TRANSACTION_ID",
    "DECRYPTBYASYMKEY",
    "DECRYPTBYCERT",
    "DECRYPTBYKEY",
    "DECRYPTBYKEYAUTOASYMKEY",
    "DECRYPTBYKEYAUTOCERT",
    "EDIT_DISTANCE",
    "EDIT_DISTANCE_SIMILARITY",
    "ENCRYPTBYASYMKEY",
    "ENCRYPTBYCERT",
    "ENCRYPTBYKEY",
    "FILEPROPERTYEX",
    "FULLTEXTCATALOGPROPERTY",
    "GET_FILESTREAM_TRANSACTION_CONTEXT",
    "GRAPH_ID_FROM_NODE_ID",
    "IS_OBJECTSIGNED",
    "JARO_WINKLER_DISTANCE",
    "JARO_WINKLER_SIMILARITY",
    "JSON_CONTAINS",
    "KEY_GUID",
    "KEY_ID",
    "KEY_NAME",
    "MIN_ACTIVE_ROWVERSION",
    "NODE_ID_FROM_PARTS",
    "OBJECT_ID_FROM_NODE_ID",
    "PERMISSIONS",
    "PRODUCT",
    "PUBLISHINGSERVERNAME",
    "REGEXP_COUNT",
    "REGEXP_INSTR",
    "REGEXP_LIKE",
    "REGEXP_MATCHES",
    "REGEXP_REPLACE",
    "REGEXP_SPLIT_TO_TABLE",
    "REGEXP_SUBSTR",
    "SIGNBYASYMKEY",
    "SIGNBYCERT",
    "SYMKEYPROPERTY",
    "TERTIARY_WEIGHTS",
    "UNISTR",
    "VECTOR_DISTANCE",
    "VECTOR_NORM",
    "VECTOR_NORMALIZE",
    "VERIFYSIGNEDBYASYMKEY",
    "VERIFYSIGNEDBYCERT",
];

/// Tells whether a function that is not in the library is one of SQL Server.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_none_is_in_the_library() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            let known =
                crate::func::find(name).is_some() || crate::func::find_aggregate(name).is_some();
            assert!(!known, "{name} is supported");
        }
    }
}
