//! The names of system procedures that SQL Server documents.
//!
//! A name in this list that is not built fails with error 40517, which says so. Error 2812 would
//! send the reader looking for a typing error.

/// Returns the name of a documented procedure that is not built. `name` may have a schema and
/// brackets.
pub fn missing_procedure(name: &str) -> Option<&'static str> {
    let object = name.rsplit('.').next().unwrap_or(name).trim_matches(['[', ']', '"']);
    find(object)
}

/// Finds a documented procedure by its name without schema.
fn find(name: &str) -> Option<&'static str> {
    // A cheap test first, for clients that call a missing procedure again and again.
    let start = name.as_bytes().first_chunk::<3>()?;
    if !STARTS.iter().any(|known| known.eq_ignore_ascii_case(start)) {
        return None;
    }
    PROCEDURES.split(' ').find(|known| known.eq_ignore_ascii_case(name))
}

/// The first three characters of all documented names.
const STARTS: [&[u8; 3]; 3] = [b"sp_", b"xp_", b"sys"];

/// Procedures of `sys` and `msdb`, and extended ones.
const PROCEDURES: &str = "\
    sp_add_agent_parameter sp_add_agent_profile sp_add_alert sp_add_category \
    sp_add_data_file_recover_suspect_db sp_add_job sp_add_jobschedule sp_add_jobserver \
    sp_add_jobstep sp_add_log_file_recover_suspect_db sp_add_log_shipping_alert_job \
    sp_add_log_shipping_primary_database sp_add_log_shipping_primary_secondary \
    sp_add_log_shipping_secondary_database sp_add_log_shipping_secondary_primary \
    sp_add_maintenance_plan sp_add_maintenance_plan_db sp_add_maintenance_plan_job \
    sp_add_notification sp_add_operator sp_add_proxy sp_add_schedule sp_add_targetservergroup \
    sp_add_targetsvrgrp_member sp_add_trusted_assembly sp_addapprole sp_addarticle \
    sp_adddatatype sp_adddistpublisher sp_adddistributiondb sp_adddistributor \
    sp_adddynamicsnapshot_job sp_addextendedproc sp_addextendedproperty sp_addlinkedserver \
    sp_addlinkedsrvlogin sp_addlogin sp_addlogreader_agent sp_addmergealternatepublisher \
    sp_addmergearticle sp_addmergefilter sp_addmergepartition sp_addmergepublication \
    sp_addmergepullsubscription sp_addmergepullsubscription_agent \
    sp_addmergepushsubscription_agent sp_addmergesubscription sp_addmessage sp_addpublication \
    sp_addpublication_snapshot sp_addpullsubscription sp_addpullsubscription_agent \
    sp_addpushsubscription_agent sp_addqreader_agent sp_addqueued_artinfo sp_addremotelogin \
    sp_addrole sp_addrolemember sp_addscriptexec sp_addserver sp_addsrvrolemember \
    sp_addsubscriber sp_addsubscriber_schedule sp_addsubscription sp_addsynctriggers \
    sp_addtabletocontents sp_addtype sp_addumpdevice sp_adduser sp_altermessage \
    sp_apply_job_to_targets sp_approlepassword sp_articlecolumn sp_articlefilter sp_articleview \
    sp_assemblies_rowset sp_assembly_dependencies_rowset sp_attach_db sp_attach_schedule \
    sp_attach_single_file_db sp_attachsubscription sp_audit_write sp_autostats \
    sp_bcp_dbcmptlevel sp_bindefault sp_bindrule sp_bindsession sp_browsereplcmds \
    sp_browsesnapshotfolder sp_can_tlog_be_applied sp_catalogs sp_catalogs_rowset sp_cdc_add_job \
    sp_cdc_change_job sp_cdc_cleanup_change_table sp_cdc_disable_db sp_cdc_disable_table \
    sp_cdc_drop_job sp_cdc_enable_db sp_cdc_enable_table sp_cdc_generate_wrapper_function \
    sp_cdc_get_captured_columns sp_cdc_get_ddl_history sp_cdc_help_change_data_capture \
    sp_cdc_help_jobs sp_cdc_scan sp_cdc_start_job sp_cdc_stop_job sp_certify_removable \
    sp_change_agent_parameter sp_change_agent_profile sp_change_log_shipping_primary_database \
    sp_change_subscription_properties sp_change_users_login sp_changearticle \
    sp_changearticlecolumndatatype sp_changedbowner sp_changedistpublisher \
    sp_changedistributiondb sp_changedistributor_password sp_changedistributor_property \
    sp_changedynamicsnapshot_job sp_changelogreader_agent sp_changemergearticle \
    sp_changemergefilter sp_changemergepublication sp_changemergepullsubscription \
    sp_changemergesubscription sp_changeobjectowner sp_changepublication \
    sp_changepublication_snapshot sp_changereplicationserverpasswords sp_changesubscriber \
    sp_changesubscriber_schedule sp_changesubscription sp_changesubscriptiondtsinfo \
    sp_changesubstatus sp_check_constbytable_rowset sp_check_dynamic_filters \
    sp_check_for_sync_trigger sp_check_join_filter sp_check_subset_filter sp_checkmergemetadata \
    sp_clean_db_file_free_space sp_clean_db_free_space sp_cleandb_contained_user \
    sp_cleanup_data_retention sp_cleanup_temporal_history sp_column_privileges \
    sp_column_privileges_ex sp_columns sp_columns_100 sp_columns_90 sp_columns_ex sp_configure \
    sp_configure_automatic_tuning sp_configure_peerconflictdetection \
    sp_control_dbmasterkey_password sp_control_plan_guide sp_copymergesnapshot sp_copysnapshot \
    sp_copysubscription sp_create_openrowset_statistics sp_create_plan_guide \
    sp_create_plan_guide_from_handle sp_create_removable sp_createorphan sp_createstats \
    sp_cursor sp_cursor_list sp_cursorclose sp_cursorexecute sp_cursorfetch sp_cursoropen \
    sp_cursoroption sp_cursorprepare sp_cursorprepexec sp_cursorunprepare \
    sp_cycle_agent_errorlog sp_cycle_errorlog sp_data_source_objects \
    sp_data_source_table_columns sp_databases sp_datatype_info sp_datatype_info_100 \
    sp_datatype_info_90 sp_db_increased_partitions sp_db_vardecimal_storage_format \
    sp_dbcmptlevel sp_dbfixedrolepermission sp_dbmmonitoraddmonitoring sp_dbmmonitorchangealert \
    sp_dbmmonitorchangemonitoring sp_dbmmonitordropalert sp_dbmmonitordropmonitoring \
    sp_dbmmonitorhelpalert sp_dbmmonitorhelpmonitoring sp_dbmmonitorresults sp_dbmmonitorupdate \
    sp_dboption sp_dbremove sp_defaultdb sp_defaultlanguage sp_delete_alert \
    sp_delete_backuphistory sp_delete_category sp_delete_database_backuphistory sp_delete_job \
    sp_delete_jobschedule sp_delete_jobserver sp_delete_jobstep sp_delete_jobsteplog \
    sp_delete_log_shipping_primary_database sp_delete_maintenance_plan sp_delete_notification \
    sp_delete_operator sp_delete_proxy sp_delete_schedule sp_delete_targetserver \
    sp_delete_targetservergroup sp_delete_targetsvrgrp_member sp_deletemergeconflictrow \
    sp_deletetracertokenhistory sp_denylogin sp_depends sp_describe_cursor \
    sp_describe_cursor_columns sp_describe_cursor_tables sp_describe_first_result_set \
    sp_describe_parameter_encryption sp_describe_undeclared_parameters sp_detach_db \
    sp_detach_schedule sp_diskdefault sp_drop_agent_parameter sp_drop_agent_profile \
    sp_drop_trusted_assembly sp_dropalias sp_dropanonymousagent sp_dropanonymoussubscription \
    sp_dropapprole sp_droparticle sp_dropdatatypemapping sp_dropdevice sp_dropdistpublisher \
    sp_dropdistributiondb sp_dropdistributor sp_dropdynamicsnapshot_job sp_dropextendedproc \
    sp_dropextendedproperty sp_dropgroup sp_droplinkedsrvlogin sp_droplogin \
    sp_dropmergealternatepublisher sp_dropmergearticle sp_dropmergefilter \
    sp_dropmergelogsettings sp_dropmergepartition sp_dropmergepublication \
    sp_dropmergepullsubscription sp_dropmergesubscription sp_dropmessage sp_droporphans \
    sp_droppublication sp_droppublisher sp_droppullsubscription sp_dropremotelogin \
    sp_dropreplsymmetrickey sp_droprole sp_droprolemember sp_dropserver sp_dropsrvrolemember \
    sp_dropsubscriber sp_dropsubscription sp_droptype sp_dropuser sp_dsninfo \
    sp_enable_heterogeneous_subscription sp_enable_sql_debug sp_enclave_send_keys \
    sp_enum_login_for_proxy sp_enum_oledb_providers sp_enum_proxy_for_subsystem \
    sp_enum_sqlagent_subsystems sp_enumcustomresolvers sp_enumdsn \
    sp_enumeratependingschemachanges sp_enumerrorlogs sp_enumfullsubscribers \
    sp_estimate_data_compression_savings sp_execute sp_execute_external_script sp_execute_remote \
    sp_executesql sp_expired_subscription_cleanup sp_firstonly_bitmap sp_fkeys \
    sp_flush_commit_table sp_flush_commit_table_on_demand sp_flush_CT_internal_table_on_demand \
    sp_flush_log sp_foreign_keys_rowset sp_foreignkeys sp_fulltext_catalog sp_fulltext_column \
    sp_fulltext_database sp_fulltext_keymappings sp_fulltext_load_thesaurus_file \
    sp_fulltext_pendingchanges sp_fulltext_resetfdhostaccount \
    sp_fulltext_semantic_register_language_statistics_db \
    sp_fulltext_semantic_unregister_language_statistics_db sp_fulltext_service sp_fulltext_table \
    sp_generate_database_ledger_digest sp_generatefilters sp_get_composite_job_info \
    sp_get_database_scoped_credential sp_get_distributor \
    sp_get_openrowset_statistics_additional_props sp_get_query_template \
    sp_get_redirected_publisher sp_getagentparameterlist sp_getapplock sp_getbindtoken \
    sp_getdefaultdatatypemapping sp_getmergedeletetype sp_getqueuedrows \
    sp_getsubscriptiondtspackagename sp_gettopologyinfo sp_grant_login_to_proxy \
    sp_grant_proxy_to_subsystem sp_grant_publication_access sp_grantdbaccess sp_grantlogin \
    sp_help sp_help_agent_default sp_help_agent_parameter sp_help_agent_profile sp_help_alert \
    sp_help_category sp_help_downloadlist sp_help_fulltext_catalogs \
    sp_help_fulltext_catalogs_cursor sp_help_fulltext_columns sp_help_fulltext_columns_cursor \
    sp_help_fulltext_system_components sp_help_fulltext_tables sp_help_fulltext_tables_cursor \
    sp_help_job sp_help_jobactivity sp_help_jobcount sp_help_jobhistory sp_help_jobs_in_schedule \
    sp_help_jobschedule sp_help_jobserver sp_help_jobstep sp_help_jobsteplog \
    sp_help_log_shipping_alert_job sp_help_log_shipping_monitor \
    sp_help_log_shipping_monitor_primary sp_help_log_shipping_monitor_secondary \
    sp_help_log_shipping_primary_database sp_help_log_shipping_primary_secondary \
    sp_help_log_shipping_secondary_database sp_help_log_shipping_secondary_primary \
    sp_help_maintenance_plan sp_help_notification sp_help_operator sp_help_proxy \
    sp_help_publication_access sp_help_schedule sp_help_spatial_geography_histogram \
    sp_help_spatial_geography_index sp_help_spatial_geography_index_xml \
    sp_help_spatial_geometry_histogram sp_help_spatial_geometry_index \
    sp_help_spatial_geometry_index_xml sp_help_targetserver sp_help_targetservergroup \
    sp_helpallowmerge_publication sp_helparticle sp_helparticlecolumns sp_helparticledts \
    sp_helpconstraint sp_helpdatatypemap sp_helpdb sp_helpdbfixedrole sp_helpdevice \
    sp_helpdistpublisher sp_helpdistributiondb sp_helpdistributor sp_helpdistributor_properties \
    sp_helpdynamicsnapshot_job sp_helpextendedproc sp_helpfile sp_helpfilegroup sp_helpgroup \
    sp_helpindex sp_helplanguage sp_helplinkedsrvlogin sp_helplogins sp_helplogreader_agent \
    sp_helpmergealternatepublisher sp_helpmergearticle sp_helpmergearticlecolumn \
    sp_helpmergearticleconflicts sp_helpmergeconflictrows sp_helpmergedeleteconflictrows \
    sp_helpmergefilter sp_helpmergelogfiles sp_helpmergepartition sp_helpmergepublication \
    sp_helpmergepullsubscription sp_helpmergesubscription sp_helpntgroup sp_helppeerrequests \
    sp_helppeerresponses sp_helppublication sp_helppublication_snapshot sp_helppullsubscription \
    sp_helpqreader_agent sp_helpremotelogin sp_helpreplfailovermode sp_helpreplicationdb \
    sp_helpreplicationdboption sp_helpreplicationoption sp_helprole sp_helprolemember \
    sp_helprotect sp_helpserver sp_helpsort sp_helpsrvrole sp_helpsrvrolemember sp_helpstats \
    sp_helpsubscriberinfo sp_helpsubscription sp_helpsubscription_properties \
    sp_helpsubscriptionerrors sp_helptext sp_helptracertokenhistory sp_helptracertokens \
    sp_helptrigger sp_helpuser sp_helpxactsetjob sp_identitycolumnforreplication \
    sp_indexcolumns_managed sp_indexes sp_indexes_100_rowset sp_indexes_rowset sp_indexoption \
    sp_internal_alter_nt_job_limits sp_invalidate_textptr sp_invoke_external_rest_endpoint \
    sp_is_columnstore_column_dictionary_enabled sp_is_makegeneration_needed \
    sp_ivindexhasnullcols sp_job_purge sp_kill_filestream_non_transacted_handles \
    sp_kill_oldest_transaction_on_secondary sp_ldf_bulk_apply sp_link_publication \
    sp_linkedservers sp_linkedservers_rowset sp_lock sp_logshippinginstallmetadata \
    sp_lookupcustomresolver sp_manage_jobs_by_login sp_manage_msdbresources sp_mapdown_bitmap \
    sp_markpendingschemachange sp_marksubscriptionvalidation sp_memory_optimized_cs_migration \
    sp_mergearticlecolumn sp_mergecleanupmetadata sp_mergedummyupdate \
    sp_mergemetadataretentioncleanup sp_mergesubscription_cleanup sp_mergesubscriptionsummary \
    sp_migrate_user_to_contained sp_monitor sp_MSdependencies sp_MSforeach_worker sp_MSforeachdb \
    sp_MSforeachtable sp_MSgetversion sp_MShelpcolumns sp_MShelpindex sp_MSindexspace \
    sp_MSloginmappings sp_MStablespace sp_msx_defect sp_msx_enlist sp_msx_get_account \
    sp_msx_set_account sp_notify_operator sp_OACreate sp_OADestroy sp_OAGetErrorInfo \
    sp_OAGetProperty sp_OAMethod sp_OASetProperty sp_OAStop sp_objectfilegroup sp_oledb_database \
    sp_oledb_ro_usrname sp_oledbinfo sp_ORbitmap sp_password sp_pkeys sp_polybase_authorize \
    sp_polybase_join_group sp_polybase_leave_group sp_polybase_show_objects \
    sp_post_msx_operation sp_posttracertoken sp_prepare sp_prepexec sp_prepexecrpc \
    sp_primary_keys_rowset sp_primarykeys sp_procedure_params_100_managed \
    sp_procedure_params_managed sp_procedures_rowset sp_processmail sp_procoption \
    sp_provider_types_100_rowset sp_provider_types_rowset sp_publication_validation \
    sp_publicationsummary sp_publish_database_to_syms sp_publishdb sp_purge_data \
    sp_purge_jobhistory sp_query_store_clear_hints sp_query_store_clear_message_queues \
    sp_query_store_consistency_check sp_query_store_flush_db sp_query_store_force_plan \
    sp_query_store_remove_plan sp_query_store_remove_query sp_query_store_reset_exec_stats \
    sp_query_store_set_hints sp_query_store_unforce_plan sp_rda_deauthorize_db \
    sp_rda_get_rpo_duration sp_rda_reauthorize_db sp_rda_reconcile_batch \
    sp_rda_reconcile_columns sp_rda_reconcile_indexes sp_rda_set_query_mode \
    sp_rda_set_rpo_duration sp_rda_test_connection sp_readerrorlog sp_recompile \
    sp_redirect_publisher sp_refresh_heterogeneous_publisher sp_refresh_parameter_encryption \
    sp_refreshsqlmodule sp_refreshsubscriptions sp_refreshview sp_registercustomresolver \
    sp_reinitmergepullsubscription sp_reinitmergesubscription sp_reinitpullsubscription \
    sp_reinitsubscription sp_releaseapplock sp_releaseschemalock sp_remote_data_archive_event \
    sp_remoteoption sp_remove_columnstore_column_dictionary sp_remove_job_from_targets \
    sp_removedbreplication sp_removedistpublisherdbreplication sp_removesrvreplication sp_rename \
    sp_renamedb sp_repladdcolumn sp_replcmds sp_replcounters sp_repldone sp_repldropcolumn \
    sp_replflush sp_replicationdboption sp_replmonitorchangepublicationthreshold \
    sp_replmonitorhelpmergesession sp_replmonitorhelpmergesessiondetail \
    sp_replmonitorhelpmergesubscriptionmoreinfo sp_replmonitorhelppublication \
    sp_replmonitorhelppublicationthresholds sp_replmonitorhelppublisher \
    sp_replmonitorhelpsubscription sp_replmonitorsubscriptionpendingcmds sp_replqueuemonitor \
    sp_replrestart sp_replsetoriginator sp_replshowcmds sp_repltrans sp_requestpeerresponse \
    sp_requestpeertopologyinfo sp_reserve_http_namespace sp_reset_connection \
    sp_reset_session_context sp_resetsnapshotdeliveryprogress sp_resetstatus sp_resign_database \
    sp_restoredbreplication sp_restoremergeidentityrange sp_resume_job \
    sp_resyncmergesubscription sp_revoke_login_from_proxy sp_revoke_proxy_from_subsystem \
    sp_revoke_publication_access sp_revokedbaccess sp_revokelogin sp_schema_filter \
    sp_schemafilter sp_schemata_rowset sp_scriptdynamicupdproc sp_scriptpublicationcustomprocs \
    sp_send_dbmail sp_sequence_get_range sp_server_diagnostics sp_server_info sp_serveroption \
    sp_set_data_processed_limit sp_set_database_firewall_rule sp_set_firewall_rule \
    sp_set_session_context sp_setapprole sp_setautosapasswordanddisable \
    sp_setdefaultdatatypemapping sp_setnetname sp_setOraclepackageversion sp_setreplfailovermode \
    sp_setsubscriptionxactseqno sp_settriggerorder sp_setuserbylogin \
    sp_show_openrowset_statistics sp_showcolv sp_showinitialmemo_xml sp_showlineage \
    sp_showpendingchanges sp_showrowreplicainfo sp_sm_detach sp_spaceused \
    sp_spaceused_remote_data_archive sp_special_columns sp_special_columns_100 \
    sp_special_columns_90 sp_sproc_columns sp_sproc_columns_100 sp_sproc_columns_90 \
    sp_sqlagent_add_job sp_sqlagent_get_perf_counters sp_sqlexec sp_srvrolepermission \
    sp_start_job sp_start_user_instance sp_startpublication_snapshot sp_statistics \
    sp_statistics_100 sp_statistics_rowset sp_stop_job sp_stored_procedures \
    sp_subscription_cleanup sp_subscriptionsummary sp_sync_from_syms sp_sysdac_add_instance \
    sp_sysmail_activate sp_table_constraints_rowset sp_table_privileges sp_table_privileges_ex \
    sp_table_statistics_rowset sp_table_type_columns_100 sp_table_type_pkeys \
    sp_table_type_primary_keys_rowset sp_table_types sp_table_validation sp_tablecollations \
    sp_tablecollations_100 sp_tableoption sp_tables sp_tables_ex sp_tables_info_rowset \
    sp_tables_rowset sp_tableswc sp_tcp_listener_on_demand sp_testlinkedserver sp_trace_create \
    sp_trace_generateevent sp_trace_getdata sp_trace_setevent sp_trace_setfilter \
    sp_trace_setstatus sp_try_set_session_context sp_unbindefault sp_unbindrule sp_unprepare \
    sp_unregister_custom_scripting sp_unregistercustomresolver sp_unsetapprole sp_unsubscribe \
    sp_update_agent_profile sp_update_alert sp_update_category sp_update_job \
    sp_update_jobschedule sp_update_jobstep sp_update_notification sp_update_operator \
    sp_update_proxy sp_update_schedule sp_update_targetservergroup sp_update_user_instance \
    sp_updateextendedproperty sp_updatestats sp_upgrade_log_shipping sp_user_counter1 \
    sp_user_counter10 sp_user_counter2 sp_user_counter3 sp_user_counter4 sp_user_counter5 \
    sp_user_counter6 sp_user_counter7 sp_user_counter8 sp_user_counter9 sp_usertypes_rowset \
    sp_validate_redirected_publisher sp_validatecache sp_validatelogins \
    sp_validatemergepublication sp_validatemergepullsubscription sp_validatemergesubscription \
    sp_validname sp_verify_database_ledger sp_verify_database_ledger_from_digest_storage \
    sp_verifypublisher sp_views_rowset sp_vupgrade_mergetables sp_vupgrade_replication \
    sp_wait_for_database_copy_sync sp_who sp_who2 sp_write_sysjobstep_log sp_xml_preparedocument \
    sp_xml_removedocument sp_xml_schema_rowset sp_xp_cmdshell_proxy_account \
    sp_xtp_bind_db_resource_pool sp_xtp_checkpoint_force_garbage_collection \
    sp_xtp_control_proc_exec_stats sp_xtp_control_query_exec_stats sp_xtp_flush_temporal_history \
    sp_xtp_force_gc sp_xtp_kill_active_transactions sp_xtp_merge_checkpoint_files \
    sp_xtp_objects_present sp_xtp_set_memory_quota sp_xtp_slo_can_downgrade \
    sp_xtp_unbind_db_resource_pool sysmail_add_account_sp sysmail_add_principalprofile_sp \
    sysmail_add_profile_sp sysmail_add_profileaccount_sp sysmail_configure_sp \
    sysmail_delete_account_sp sysmail_delete_log_sp sysmail_delete_mailitems_sp \
    sysmail_delete_principalprofile_sp sysmail_delete_profile_sp \
    sysmail_delete_profileaccount_sp sysmail_help_account_sp sysmail_help_configure_sp \
    sysmail_help_principalprofile_sp sysmail_help_profile_sp sysmail_help_profileaccount_sp \
    sysmail_help_queue_sp sysmail_help_status_sp sysmail_start_sp sysmail_stop_sp \
    sysmail_update_account_sp xp_availablemedia xp_cmdshell xp_create_subdir xp_delete_file \
    xp_dirtree xp_enum_oledb_providers xp_enumerrorlogs xp_enumgroups xp_fileexist \
    xp_fixeddrives xp_get_script xp_get_tape_devices xp_getnetname xp_grantlogin \
    xp_instance_regaddmultistring xp_instance_regdeletekey xp_instance_regdeletevalue \
    xp_instance_regenumkeys xp_instance_regenumvalues xp_instance_regread \
    xp_instance_regremovemultistring xp_instance_regwrite xp_logevent xp_loginconfig \
    xp_logininfo xp_msver xp_msx_enlist xp_passAgentInfo xp_prop_oledb_provider xp_qv \
    xp_readerrorlog xp_regaddmultistring xp_regdeletekey xp_regdeletevalue xp_regenumkeys \
    xp_regenumvalues xp_regread xp_regremovemultistring xp_regwrite \
    xp_repl_convert_encrypt_sysadmin_wrapper xp_replposteor xp_revokelogin xp_servicecontrol \
    xp_sprintf xp_sqlagent_enum_jobs xp_sqlagent_is_starting xp_sqlagent_monitor \
    xp_sqlagent_notify xp_sqlagent_param xp_sqlmaint xp_sscanf xp_subdirs xp_sysmail_activate \
    xp_sysmail_attachment_load xp_sysmail_format_query";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_has_each_name_once() {
        let names: Vec<String> = PROCEDURES.split(' ').map(str::to_lowercase).collect();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn every_name_is_found() {
        PROCEDURES.split(' ').for_each(|name| assert_eq!(find(name), Some(name)));
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find("SP_ADDLINKEDSERVER"), Some("sp_addlinkedserver"));
        assert_eq!(find("sp_no_such"), None);
    }
}
