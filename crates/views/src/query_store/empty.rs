//! Views of the Query Store about what does not exist here: feedback, variants of plans for
//! parameters, forced plans and secondary replicas.

use metadata::SystemView;
use metadata::column::{BIGINT, DATETIME, INT, NVMAX, SMALLINT, TINYINT, nv, shape, unknown};

use super::MOMENT;
use crate::absent::{absent, none};

pub(crate) static PLAN_FEEDBACK: SystemView = absent("query_store_plan_feedback", || {
    shape(&[
        none("plan_feedback_id", BIGINT),
        none("plan_id", BIGINT),
        none("feature_id", TINYINT),
        unknown("feature_desc", nv(60)),
        unknown("feedback_data", NVMAX),
        none("state", INT),
        unknown("state_desc", nv(60)),
        none("create_time", MOMENT),
        unknown("last_updated_time", MOMENT),
    ])
});

pub(crate) static QUERY_VARIANT: SystemView = absent("query_store_query_variant", || {
    shape(&[
        none("query_variant_query_id", BIGINT),
        none("parent_query_id", BIGINT),
        none("dispatcher_plan_id", BIGINT),
    ])
});

pub(crate) static PLAN_FORCING_LOCATIONS: SystemView =
    absent("query_store_plan_forcing_locations", || {
        shape(&[
            none("plan_forcing_location_id", BIGINT),
            none("query_id", BIGINT),
            none("plan_id", BIGINT),
            none("replica_group_id", BIGINT),
            unknown("timestamp", DATETIME),
            none("plan_forcing_type", INT),
            unknown("plan_forcing_type_desc", nv(60)),
        ])
    });

pub(crate) static REPLICAS: SystemView = absent("query_store_replicas", || {
    shape(&[
        none("replica_group_id", BIGINT),
        none("role_type", SMALLINT),
        unknown("replica_name", nv(644)),
    ])
});
