//! Reads aggregation nodes from plan JSON.
//!
//! Properties of Velox's node that Ocior's node does not have become separate nodes below it:
//!
//! ```text
//! rows --Filter: keys are not null--> --OrderBy: sorting keys of an aggregate-->
//!      --Project: arguments and masks that are not columns--> Aggregation
//! ```
//!
//! The types of intermediate results are Ocior's, not the plan's: sums of integers are wider here.
//! Recorded rows are converted, in front of a final step and after a partial step that is the whole
//! plan.

use dwio::expr::TypedExpr;
use exec::operator::aggregate::{depends_on_order, is_aggregate, resolve_aggregate};
use exec::plan::{
    Aggregate, AggregationNode, AggregationStep, FilterNode, OrderByNode, PlanNode, ProjectNode,
    SortKey,
};
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type, Value};

use super::expressions::Expressions;
use super::json::Json;
use super::nodes::{column_name, sort_keys};
use super::output_type::output_type;
use super::types::read_type;

/// Reads an aggregation over `source`.
pub(super) fn read_aggregation(
    json: &Json<'_>,
    id: Arc<str>,
    source: Arc<PlanNode>,
    expressions: &Expressions,
) -> Result<PlanNode> {
    let step = json.member("step")?;
    let step = match step.text()? {
        "SINGLE" => AggregationStep::Single,
        "PARTIAL" => AggregationStep::Partial,
        "INTERMEDIATE" => AggregationStep::Intermediate,
        "FINAL" => AggregationStep::Final,
        _ => return Err(step.refuse("a step of an aggregation that is not built")),
    };
    if let Some(set) = json.optional_elements("globalGroupingSets")?.first() {
        return Err(set.refuse("grouping sets"));
    }
    if let Some(id) = json.optional("groupId")? {
        return Err(id.refuse("grouping sets"));
    }
    let input = Arc::clone(source.output_type());
    let keys = json.optional_elements("groupingKeys")?;
    let keys = keys.iter().map(|key| Ok(column_name(key, &input)?.to_string()));
    let keys = keys.collect::<Result<Vec<String>>>()?;

    let names = json.member("aggregateNames")?.elements()?;
    let calls = json.member("aggregates")?.elements()?;
    if names.len() != calls.len() {
        return Err(json.wrong("as many names as aggregates"));
    }
    let mut arguments = Arguments::new(&input);
    let mut aggregates = Vec::with_capacity(calls.len());
    let mut order: Vec<SortKey> = Vec::new();
    for (name, call) in names.iter().zip(&calls) {
        let reader = Reader { step, input: &input, expressions };
        let aggregate = reader.aggregate(name.text()?, call, &mut arguments)?;
        order = reader.sorting_keys(call, &aggregate.function, order)?;
        aggregates.push(aggregate);
    }

    let mut source = source;
    if json.flag("ignoreNullKeys")? && !takes_partials(step) {
        source = without_null_keys(&id, source, &keys);
    }
    if !order.is_empty() {
        let id = format!("{id}.order").into();
        source = Arc::new(PlanNode::OrderBy(OrderByNode { id, source, keys: order }));
    }
    let source = arguments.below(&id, source);
    let key_fields = keys.iter().filter_map(|key| Some((key.clone(), input.type_of(key)?.clone())));
    let fields = key_fields.chain(aggregates.iter().map(|a| (a.name.clone(), a.ty.clone())));
    let output_type = Arc::new(RowType::new(fields.collect::<Vec<_>>()));
    Ok(PlanNode::Aggregation(AggregationNode { id, source, step, keys, aggregates, output_type }))
}

struct Reader<'a> {
    step: AggregationStep,
    input: &'a Arc<RowType>,
    expressions: &'a Expressions,
}

impl Reader<'_> {
    /// Returns the order in which the node's aggregates read their rows, extended by the sorting
    /// keys of one more aggregate; `order` is the order of the previous ones. All groups are fed
    /// from one sorted input, so a single order must satisfy all aggregates.
    ///
    /// # Errors
    /// `Unsupported` when two aggregates require different orders, and for an order in a step whose
    /// results are combined by another step, where Velox has no order either.
    fn sorting_keys(
        &self,
        json: &Json<'_>,
        function: &str,
        order: Vec<SortKey>,
    ) -> Result<Vec<SortKey>> {
        let keys = json.optional_elements("sortingKeys")?;
        if keys.is_empty() {
            return Ok(order);
        }
        let own = sort_keys(json, self.input)?;
        if self.step != AggregationStep::Single {
            return Err(json.locate(
                Error::unsupported("sorting keys of an aggregate in a partial or final step")
                    .with("name", function),
            ));
        }
        if !depends_on_order(function) {
            return Ok(order);
        }
        match (own, order) {
            (own, order) if own.starts_with(&order) => Ok(own),
            (own, order) if order.starts_with(&own) => Ok(order),
            _ => Err(json.locate(
                Error::unsupported("sorting keys that differ among the aggregates of a node")
                    .with("name", function),
            )),
        }
    }

    fn aggregate(
        &self,
        name: &str,
        json: &Json<'_>,
        arguments: &mut Arguments,
    ) -> Result<Aggregate> {
        let call = json.member("call")?;
        let function = call.member("functionName")?;
        let plain = function.text()?.trim_start_matches("presto.default.");
        if !is_aggregate(plain) {
            return Err(function.refuse("an aggregate function that is not built"));
        }
        let inputs = call.optional_elements("inputs")?;
        let read = |arg| self.expressions.read(arg, self.input);
        let mut args = inputs.iter().map(read).collect::<Result<Vec<_>>>()?;
        let takes_partials = takes_partials(self.step);
        let raw_types = match json.optional("rawInputTypes")? {
            Some(types) => types.elements()?.iter().map(read_type).collect::<Result<Vec<_>>>()?,
            None if takes_partials => return Err(json.wrong("types of the raw input")),
            None => args.iter().map(|arg| arg.ty().clone()).collect(),
        };
        let signature = call.check(resolve_aggregate(plain, &raw_types))?;
        let gives_partials =
            matches!(self.step, AggregationStep::Partial | AggregationStep::Intermediate);
        let ty = if gives_partials {
            signature.intermediate.clone()
        } else {
            let declared = read_type(&call.member("type")?)?;
            if !declared.is_equivalent(&signature.result) {
                return Err(call.locate(
                    Error::unsupported("a function gives another type than the plan says")
                        .with("name", plain)
                        .with("plan", declared)
                        .with("here", &signature.result),
                ));
            }
            declared
        };
        if !takes_partials {
            // Ocior's function may take wider types than the plan's function.
            let cast = |(arg, ty): (TypedExpr, &Type)| match arg.ty().is_equivalent(ty) {
                true => arg,
                false => TypedExpr::Cast { input: Box::new(arg), ty: ty.clone(), try_cast: false },
            };
            args = args.into_iter().zip(&signature.args).map(cast).collect();
        }
        let mask = match json.optional("mask")? {
            Some(mask) if !takes_partials => Some(self.expressions.read(&mask, self.input)?),
            // The mask was applied in the step that read the rows.
            _ => None,
        };
        let mask = mask.map(|mask| arguments.column(mask));
        let raw_types = match args.as_mut_slice() {
            [recorded] if takes_partials => {
                let ours = signature.intermediate;
                call.check(from_recorded(plain, recorded, &ours, raw_types))?
            }
            _ if takes_partials => return Err(call.wrong("one intermediate result")),
            args => types_of(args),
        };
        let args: Vec<_> = args.into_iter().map(|arg| arguments.column(arg)).collect();
        let distinct = json.flag("distinct")?;
        let function = Arc::from(plain);
        Ok(Aggregate { name: name.to_string(), function, args, raw_types, ty, distinct, mask })
    }
}

/// Returns true when the input of a step is the intermediate result of another step.
fn takes_partials(step: AggregationStep) -> bool {
    matches!(step, AggregationStep::Intermediate | AggregationStep::Final)
}

fn types_of(args: &[TypedExpr]) -> Vec<Type> {
    args.iter().map(|arg| arg.ty().clone()).collect()
}

/// Converts an intermediate result of Velox to Ocior's, and returns the types that its raw
/// arguments have after this. Sums of integers are wider in Ocior, and those of averages are exact:
/// a sum that is already a double is averaged like doubles.
fn from_recorded(
    function: &str,
    recorded: &mut TypedExpr,
    ours: &Type,
    raw_types: Vec<Type>,
) -> Result<Vec<Type>> {
    if recorded.ty().is_equivalent(ours) {
        return Ok(raw_types);
    }
    let of_doubles = Type::row([("", Type::Double), ("", Type::BigInt)]);
    match (function, recorded.ty(), ours) {
        ("sum", Type::BigInt, Type::HugeInt) => {
            *recorded = TypedExpr::cast(recorded.clone(), Type::HugeInt);
            Ok(raw_types)
        }
        ("avg", found, _) if found.is_equivalent(&of_doubles) => Ok(vec![Type::Double]),
        (_, found, ours) => Err(Error::unsupported("an intermediate result of another type")
            .with("name", function)
            .with("plan", found)
            .with("here", ours)),
    }
}

/// Converts a plan that ends in a partial step, so that it returns the intermediate results of the
/// types in its JSON; returns any other plan unchanged.
pub(super) fn as_recorded(json: &Json<'_>, root: Arc<PlanNode>) -> Result<Arc<PlanNode>> {
    let PlanNode::Aggregation(node) = &*root else { return Ok(root) };
    let declared = output_type(json)?;
    let fields = node.output_type.fields().zip(declared.types());
    let expressions = fields.map(|((name, ours), wanted)| {
        let column = TypedExpr::field(name, ours.clone());
        json.check(to_recorded(column, wanted))
    });
    let expressions = expressions.collect::<Result<Vec<_>>>()?;
    if expressions.iter().all(|expr| matches!(expr, TypedExpr::Field { .. })) {
        return Ok(root);
    }
    let id = format!("{}.recorded", node.id).into();
    let project = ProjectNode { id, source: Arc::clone(&root), output_type: declared, expressions };
    Ok(Arc::new(PlanNode::Project(project)))
}

/// Converts an intermediate result of Ocior to Velox's type.
fn to_recorded(ours: TypedExpr, wanted: &Type) -> Result<TypedExpr> {
    match (ours.ty().clone(), wanted) {
        (found, wanted) if found.is_equivalent(wanted) => Ok(ours),
        (Type::HugeInt, Type::BigInt | Type::Double) | (Type::BigInt, Type::Double) => {
            Ok(TypedExpr::cast(ours, wanted.clone()))
        }
        (Type::Row(found), Type::Row(fields)) if found.len() == fields.len() => {
            let field = |(index, (ty, wanted)): (usize, (&Type, &Type))| {
                let (input, ty) = (Box::new(ours.clone()), ty.clone());
                to_recorded(TypedExpr::Dereference { input, index, ty }, wanted)
            };
            let pairs = found.types().iter().zip(fields.types()).enumerate();
            let converted = pairs.map(field).collect::<Result<Vec<_>>>()?;
            let is_null = TypedExpr::call("is_null", vec![ours], Type::Boolean);
            let null = TypedExpr::constant(Value::Null, wanted.clone());
            let row = TypedExpr::call("row_constructor", converted, wanted.clone());
            Ok(TypedExpr::call("if", vec![is_null, null, row], wanted.clone()))
        }
        (found, wanted) => Err(Error::unsupported("an intermediate result of another type")
            .with("plan", wanted)
            .with("here", found)),
    }
}

/// Arguments that are not columns and are computed below the aggregation.
struct Arguments {
    fields: Vec<(String, Type)>,
    expressions: Vec<TypedExpr>,
    num_columns: usize,
}

impl Arguments {
    fn new(input: &RowType) -> Self {
        let fields: Vec<_> = input.fields().map(|(n, ty)| (n.to_string(), ty.clone())).collect();
        let column = |(name, ty): &(String, Type)| TypedExpr::field(name.as_str(), ty.clone());
        let expressions = fields.iter().map(column).collect();
        Arguments { num_columns: fields.len(), fields, expressions }
    }

    /// Returns the column of `arg`, which is added if `arg` is not a column.
    fn column(&mut self, arg: TypedExpr) -> TypedExpr {
        if matches!(arg, TypedExpr::Field { .. }) {
            return arg;
        }
        let taken = |name: &str| self.fields.iter().any(|(known, _)| known == name);
        let mut name = format!("argument {}", self.fields.len());
        while taken(&name) {
            name.push('\'');
        }
        let ty = arg.ty().clone();
        self.fields.push((name.clone(), ty.clone()));
        self.expressions.push(arg);
        TypedExpr::field(name, ty)
    }

    /// Adds the arguments after the columns of `source`.
    fn below(self, id: &str, source: Arc<PlanNode>) -> Arc<PlanNode> {
        if self.fields.len() == self.num_columns {
            return source;
        }
        let output_type = Arc::new(RowType::new(self.fields));
        let (id, expressions) = (format!("{id}.arguments").into(), self.expressions);
        Arc::new(PlanNode::Project(ProjectNode { id, source, output_type, expressions }))
    }
}

/// Returns the rows of `source` in which no key is null.
fn without_null_keys(id: &str, source: Arc<PlanNode>, keys: &[String]) -> Arc<PlanNode> {
    let input = source.output_type();
    let is_there = |key: &String| {
        let column = TypedExpr::field(key.as_str(), input.type_of(key)?.clone());
        let is_null = TypedExpr::call("is_null", vec![column], Type::Boolean);
        Some(TypedExpr::call("not", vec![is_null], Type::Boolean))
    };
    match TypedExpr::and(keys.iter().filter_map(is_there).collect()) {
        Some(predicate) => {
            let id = format!("{id}.keys").into();
            Arc::new(PlanNode::Filter(FilterNode { id, source, predicate }))
        }
        None => source,
    }
}
