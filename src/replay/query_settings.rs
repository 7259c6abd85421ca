//! Settings of Velox's queries (`QueryConfig` of 0.2.0, and known settings of newer versions):
//! which of them may change the result rows.
//!
//! | setting | effect here |
//! |---|---|
//! | known to Ocior's operators and drivers by the same name | honoured |
//! | changes memory, threads, batches, traces or statistics, or only when a query fails by a limit | ignored |
//! | changes result rows | rejected by name, unless it has the value that changes nothing |
//! | unknown | rejected by name: it may change result rows |

use exec::QueryConfig;
use vector::{Error, Result};

/// Effect of a setting when a query is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Operators and drivers use it by this name.
    Honoured,
    /// It does not change result rows.
    Harmless,
}

/// Settings that change result rows: name, value without effect, and description of the effect.
const CHANGING: [(&str, &str, &str); 8] = [
    ("legacy_cast", "false", "casts to text as Presto once wrote it"),
    ("cast_match_struct_by_name", "false", "casts of structs by the names of their fields"),
    ("presto.array_agg.ignore_nulls", "false", "array_agg without nulls"),
    ("throw_exception_on_duplicate_map_keys", "false", "errors for keys that come twice"),
    ("field_names_in_json_cast_enabled", "false", "casts to JSON with names of fields"),
    ("spark.legacy_statistical_aggregate", "false", "NaN where Spark now has null"),
    ("spark.legacy_date_formatter", "false", "dates as Spark once wrote them"),
    ("spark.json_ignore_null_fields", "true", "JSON with fields that are null"),
];

/// Settings that do not change result rows.
const HARMLESS: [&str; 70] = [
    "abandon_partial_aggregation_min_pct",
    "abandon_partial_aggregation_min_rows",
    "abandon_partial_topn_row_number_min_pct",
    "abandon_partial_topn_row_number_min_rows",
    "adaptive_filter_reordering_enabled",
    "aggregation_compaction_bytes_threshold",
    "aggregation_compaction_unused_memory_ratio",
    "aggregation_spill_enabled",
    "client_tags",
    "enable_expression_evaluation_cache",
    "exchange.max_buffer_size",
    "expression.eval_simplified",
    "expression.max_array_size_in_reduce",
    "expression.max_compiled_regexes",
    "expression.track_cpu_usage",
    "hash_adaptivity_enabled",
    "hash_probe_finish_early_on_empty_build",
    "index_lookup_join_max_prefetch_batches",
    "index_lookup_join_split_output",
    "join_spill_enabled",
    "local_merge_source_queue_size",
    "max_elements_size_in_repeat_and_sequence",
    "max_extended_partial_aggregation_memory",
    "max_local_exchange_buffer_size",
    "max_local_exchange_partition_count",
    "max_num_splits_listened_to",
    "max_output_buffer_size",
    "max_page_partitioning_buffer_size",
    "max_partial_aggregation_memory",
    "max_shared_subexpr_results_cached",
    "max_spill_bytes",
    "max_spill_file_size",
    "max_spill_level",
    "max_spill_run_rows",
    "merge_exchange.max_buffer_size",
    "min_exchange_output_batch_bytes",
    "min_local_exchange_partition_count_to_use_partition_buffer",
    "min_spillable_reservation_pct",
    "min_table_rows_for_parallel_join_build",
    "mixed_grouped_mode_hash_join_spill_enabled",
    "operator_batch_size_stats_enabled",
    "operator_track_expression_stats",
    "order_by_spill_enabled",
    "parallel_output_join_build_rows_enabled",
    "query_max_memory_per_node",
    "query_memory_reclaimer_priority",
    "request_data_sizes_max_wait_sec",
    "row_number_spill_enabled",
    "row_size_tracking_enabled",
    "row_size_tracking_mode",
    "selective_nimble_reader_enabled",
    "skip_request_data_size_with_single_source",
    "source",
    // These settings belong to functions that are not implemented, so plans that need them are
    // rejected.
    "spark.bloom_filter.expected_num_items",
    "spark.bloom_filter.max_num_bits",
    "spark.bloom_filter.num_bits",
    "spark.partition_id",
    "spillable_reservation_growth_pct",
    "streaming_aggregation_eager_flush",
    "streaming_aggregation_min_output_batch_rows",
    "task_partitioned_writer_count",
    "task_writer_count",
    "topn_row_number_spill_enabled",
    "unnest_split_output",
    "window_num_sub_partitions",
    "window_spill_enabled",
    "window_spill_min_read_batch_rows",
    "writer_flush_threshold_bytes",
    "writer_spill_enabled",
    "zero_copy_decompression_enabled",
];

/// Prefixes of the names of settings that do not change result rows.
const HARMLESS_FAMILIES: [&str; 10] = [
    "debug.",
    "debug_",
    "op_trace_",
    "prefixsort_",
    "query_trace_",
    "scaled_writer_",
    "shuffle_",
    "spill_",
    "spiller_",
    "table_scan_",
];

/// Returns the effect of the setting `name` of a query.
///
/// # Errors
/// `Unsupported`, with the name, for a setting that would change the result rows, and for an
/// unknown setting.
pub(super) fn meaning(name: &str, value: &str) -> Result<Meaning> {
    if QueryConfig::NAMES.contains(&name) {
        return Ok(Meaning::Honoured);
    }
    if let Some((_, unchanged, what)) = CHANGING.iter().find(|(known, ..)| *known == name) {
        if value.trim().eq_ignore_ascii_case(unchanged) {
            return Ok(Meaning::Harmless);
        }
        return Err(Error::unsupported("a setting of the query that changes its rows")
            .with("name", name)
            .with("value", value)
            .with("asks_for", what));
    }
    let is_harmless =
        HARMLESS.contains(&name) || HARMLESS_FAMILIES.iter().any(|family| name.starts_with(family));
    if is_harmless {
        return Ok(Meaning::Harmless);
    }
    Err(Error::unsupported("a setting of the query that is not known, and may change its rows")
        .with("name", name)
        .with("value", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_in_one_list_and_the_lists_are_sorted() {
        assert!(HARMLESS.is_sorted() && HARMLESS_FAMILIES.is_sorted());
        for (name, ..) in CHANGING {
            assert!(!HARMLESS.contains(&name) && !QueryConfig::NAMES.contains(&name), "{name}");
        }
    }

    #[test]
    fn what_changes_rows_is_refused_by_name_unless_it_changes_nothing() {
        for (name, unchanged, _) in CHANGING {
            assert_eq!(meaning(name, unchanged).unwrap(), Meaning::Harmless);
            let other = if unchanged == "true" { "false" } else { "TRUE" };
            let error = meaning(name, other).unwrap_err();
            assert_eq!(error.field("name"), Some(name));
        }
        for name in ["no_such_setting", "legacy_casts", ""] {
            assert_eq!(meaning(name, "true").unwrap_err().field("name"), Some(name));
        }
    }

    /// The names are those of Velox 0.2.0.
    #[test]
    fn the_settings_of_velox_are_all_known() {
        let names = "abandon_partial_aggregation_min_rows adaptive_filter_reordering_enabled \
            aggregation_spill_enabled driver_cpu_time_slice_limit_ms \
            enable_expression_evaluation_cache exchange.max_buffer_size \
            expression.max_array_size_in_reduce hash_adaptivity_enabled \
            hash_probe_finish_early_on_empty_build join_spill_enabled legacy_cast \
            max_extended_partial_aggregation_memory max_local_exchange_buffer_size \
            max_local_exchange_partition_count max_output_batch_rows max_output_buffer_size \
            max_page_partitioning_buffer_size max_partial_aggregation_memory \
            max_shared_subexpr_results_cached max_spill_file_size max_spill_level \
            max_spill_run_rows max_split_preload_per_driver min_exchange_output_batch_bytes \
            min_spillable_reservation_pct min_table_rows_for_parallel_join_build \
            op_trace_directory_create_config order_by_spill_enabled preferred_output_batch_bytes \
            preferred_output_batch_rows prefixsort_max_string_prefix_length prefixsort_min_rows \
            prefixsort_normalized_key_max_bytes presto.array_agg.ignore_nulls query_trace_dir \
            query_trace_enabled query_trace_node_ids query_trace_task_reg_exp \
            scaled_writer_rebalance_max_memory_usage_ratio selective_nimble_reader_enabled \
            shuffle_compression_codec spark.bloom_filter.num_bits spark.partition_id \
            spill_compression_codec spill_file_create_config spill_prefixsort_enabled \
            spill_read_buffer_size spill_write_buffer_size spillable_reservation_growth_pct \
            spiller_num_partition_bits spiller_start_partition_bit \
            streaming_aggregation_eager_flush table_scan_getoutput_time_limit_ms \
            table_scan_scale_up_memory_usage_ratio table_scan_scaled_processing_enabled \
            task_partitioned_writer_count task_writer_count topn_row_number_spill_enabled \
            track_operator_cpu_usage debug.validate_output_from_operators \
            debug_disable_expression_with_peeling index_lookup_join_max_prefetch_batches \
            request_data_sizes_max_wait_sec window_spill_enabled writer_flush_threshold_bytes \
            writer_spill_enabled";
        for name in names.split_whitespace() {
            assert!(meaning(name, "false").is_ok(), "{name}");
        }
    }
}
