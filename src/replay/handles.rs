//! Table and column handles as plans write them.

use connector_hive::{
    ColumnKind, DateText, Extraction, ExtractionStep, HiveColumnHandle, HiveTableHandle, KeySet,
};
use dwio::expr::TypedExpr;
use dwio::reader::FieldIds;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{Result, Type};

use super::expressions::Expressions;
use super::filters::read_filter;
use super::json::Json;
use super::types::{read_row_type, read_type};

/// Reads the handle of a table of connector `connector_id`.
pub(super) fn read_table(
    json: &Json<'_>,
    connector_id: &str,
    expressions: &Expressions,
) -> Result<HiveTableHandle> {
    let (name, class) = json.class()?;
    if name != "HiveTableHandle" {
        return Err(class.refuse("a table handle that is not built"));
    }
    let mut table = HiveTableHandle::new(connector_id, json.member("tableName")?.text()?);
    if let Some(database) = json.optional("dbName")? {
        table = table.with_database(database.text()?);
    }
    for filter in json.optional_elements("subfieldFilters")? {
        let path = read_subfield(&filter.member("subfield")?)?;
        table = table.with_filter(path, Arc::new(read_filter(&filter.member("filter")?)?));
    }
    if let Some(condition) = json.optional("remainingFilter")? {
        let condition = expressions.read_condition(&condition)?;
        table = table.with_remaining_filter(Some(with_null_bounds(&condition, false)));
    }
    if let Some(columns) = json.optional("dataColumns")? {
        table = table.with_data_columns(read_row_type(&columns)?);
    }
    for column in json.optional_elements("filterColumnHandles")? {
        table = table.with_filter_column(read_column(&column)?);
    }
    for (key, value) in json.optional_members("tableParameters")? {
        table = table.with_parameter(key, value.text()?);
    }
    if let Some(ids) = json.optional("dataColumnFieldIds")? {
        let read = ids.elements()?.iter().map(read_field_ids).collect::<Result<_>>()?;
        table = ids.check(table.with_field_ids(read))?;
    }
    if let Some(rate) = json.optional("sampleRate")? {
        table = rate.check(table.with_sample_rate(rate.float()?))?;
    }
    match json.optional_elements("indexColumns")?.first() {
        Some(index) => Err(index.refuse("columns of an index")),
        None => Ok(table),
    }
}

/// An id, or an object with the ids of a column and of what is below it.
fn read_field_ids(json: &Json<'_>) -> Result<FieldIds> {
    if let Ok(id) = json.integer() {
        return Ok(FieldIds { id: Some(id), children: Vec::new() });
    }
    let id = json.optional("fieldId")?.map(|id| id.integer()).transpose()?;
    let children = json.optional_elements("children")?;
    Ok(FieldIds { id, children: children.iter().map(read_field_ids).collect::<Result<_>>()? })
}

/// Reads the handle of a column.
pub(super) fn read_column(json: &Json<'_>) -> Result<HiveColumnHandle> {
    let (name, class) = json.class()?;
    if name != "HiveColumnHandle" {
        return Err(class.refuse("a column handle that is not built"));
    }
    let kind = json.member("columnType")?;
    let kind = match kind.text()? {
        "Regular" => ColumnKind::Regular,
        "PartitionKey" => ColumnKind::PartitionKey,
        "Synthesized" => ColumnKind::Synthesized,
        "RowIndex" => ColumnKind::RowIndex,
        "RowId" => ColumnKind::RowId,
        _ => return Err(kind.refuse("a kind of column that is not built")),
    };
    let name = json.member("hiveColumnHandleName")?.text()?;
    let ty = read_type(&json.member("dataType")?)?;
    let schema_type = match json.optional("hiveType")? {
        Some(schema) => read_type(&schema)?,
        None => ty.clone(),
    };
    let extractions = json.optional_elements("extractions")?;
    let extractions = extractions.iter().map(read_extraction).collect::<Result<_>>()?;
    let subfields = json.optional_elements("requiredSubfields")?;
    let subfields = subfields.iter().map(read_subfield).collect::<Result<_>>()?;
    let column = HiveColumnHandle::new(name, kind, ty);
    let column = json.check(column.with_extractions(schema_type, extractions))?;
    let column = json.check(column.with_required_subfields(subfields))?;
    let Some(parameters) = json.optional("columnParseParameters")? else { return Ok(column) };
    let Some(format) = parameters.optional("partitionDateValueFormat")? else { return Ok(column) };
    Ok(column.with_date_text(match format.text()? {
        "ISO8601" => DateText::Iso,
        "DaysSinceEpoch" => DateText::Days,
        _ => return Err(format.refuse("a format of dates that is not built")),
    }))
}

fn read_subfield(json: &Json<'_>) -> Result<Subfield> {
    json.check(Subfield::parse(json.text()?))
}

fn read_extraction(json: &Json<'_>) -> Result<Extraction> {
    let chain = json.optional_elements("chain")?;
    Ok(Extraction {
        output_name: json.member("outputName")?.text()?.to_string(),
        chain: chain.iter().map(read_step).collect::<Result<_>>()?,
        ty: read_type(&json.member("dataType")?)?,
    })
}

fn read_step(json: &Json<'_>) -> Result<ExtractionStep> {
    let field = json.optional("fieldName")?.map(|name| name.text()).transpose()?;
    let keys = match (json.optional("stringFilterKeys")?, json.optional("intFilterKeys")?) {
        (Some(keys), None) => {
            let keys = keys.elements()?;
            let keys = keys.iter().map(|key| Ok(Arc::from(key.text()?.as_bytes())));
            Some(KeySet::Strings(keys.collect::<Result<_>>()?))
        }
        (None, Some(keys)) => {
            let keys = keys.elements()?;
            Some(KeySet::Integers(keys.iter().map(Json::integer).collect::<Result<_>>()?))
        }
        (None, None) => None,
        (Some(keys), Some(_)) => return Err(keys.wrong("keys of one kind")),
    };
    json.check(ExtractionStep::parse(json.member("step")?.text()?, field, keys))
}

/// The condition of a table handle with BETWEEN as two comparisons where a bound is null, in the places
/// of which Velox makes filters of columns: there `NOT (x BETWEEN NULL AND 4)` holds where `x > 4`
/// (rule S4.17). Everywhere else the function is null when a bound is. Of OR, and of AND below NOT,
/// filters are made where all of it is about one column.
fn with_null_bounds(condition: &TypedExpr, negated: bool) -> TypedExpr {
    let TypedExpr::Call { name, args, ty } = condition else { return condition.clone() };
    let call = |name: &str, args| TypedExpr::call(name, args, Type::Boolean);
    let is_null =
        |arg: &TypedExpr| matches!(arg, TypedExpr::Constant { value, .. } if value.is_null());
    let is_taken_apart = (&**name == "and") != negated || condition.field_names().len() == 1;
    match (&**name, args.as_slice()) {
        ("between", [value, low, high]) if is_column(value) && (is_null(low) || is_null(high)) => {
            let above = call("gte", vec![value.clone(), low.clone()]);
            let below = call("lte", vec![value.clone(), high.clone()]);
            call("and", vec![above, below])
        }
        ("not", [input]) => call("not", vec![with_null_bounds(input, !negated)]),
        ("and" | "or", terms) if is_taken_apart => {
            let terms = terms.iter().map(|term| with_null_bounds(term, negated));
            TypedExpr::call(Arc::clone(name), terms.collect(), ty.clone())
        }
        _ => condition.clone(),
    }
}

/// True for a column or a field of one.
fn is_column(expr: &TypedExpr) -> bool {
    match expr {
        TypedExpr::Field { .. } => true,
        TypedExpr::Dereference { input, .. } => is_column(input),
        _ => false,
    }
}
