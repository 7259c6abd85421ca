//! A query that fails, made smaller while it still fails.

use super::ast::{Body, Expr, Query, Select, Source};

/// Smaller queries that are tried at most.
const MAX_TRIALS: usize = 400;

/// The smallest query found that still `fails`.
pub(super) fn shrunk(mut query: Query, mut fails: impl FnMut(&Query) -> bool) -> Query {
    let mut trials = 0;
    loop {
        let smaller = smaller_queries(&query).into_iter().find(|candidate| {
            trials += 1;
            trials <= MAX_TRIALS && fails(candidate)
        });
        match smaller {
            Some(smaller) => query = smaller,
            None => return query,
        }
    }
}

/// Queries with one part less, the smallest first. Some of them may have no meaning.
fn smaller_queries(query: &Query) -> Vec<Query> {
    let mut found = Vec::new();
    if query.limit.is_some() || query.offset > 0 {
        found.push(Query { limit: None, offset: 0, ..query.clone() });
    } else if !query.order.is_empty() {
        found.push(Query { order: Vec::new(), ..query.clone() });
    }
    let with = |body: Body| Query { body, ..query.clone() };
    match &query.body {
        Body::Set { operation, all, left, right } => {
            found.extend([with(left.body.clone()), with(right.body.clone())]);
            let (operation, all) = (*operation, *all);
            let set = |left: &Query, right: &Query| {
                let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
                with(Body::Set { operation, all, left, right })
            };
            found.extend(smaller_queries(left).iter().map(|left| set(left, right)));
            found.extend(smaller_queries(right).iter().map(|right| set(left, right)));
        }
        Body::Select(select) => {
            let selects = smaller_selects(select, query.order.is_empty());
            found.extend(selects.into_iter().map(|select| with(Body::Select(Box::new(select)))));
        }
    }
    found
}

fn smaller_selects(select: &Select, may_drop_items: bool) -> Vec<Select> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Select)| {
        let mut changed = select.clone();
        change(&mut changed);
        found.push(changed);
    };
    if select.distinct {
        add(&|select| select.distinct = false);
    }
    if select.from.len() > 1 {
        for i in 0..select.from.len() {
            add(&|select| {
                select.from.remove(i);
            });
        }
    }
    if let Some(filter) = &select.filter {
        add(&|select| select.filter = None);
        for smaller in smaller_exprs(filter) {
            add(&|select| select.filter = Some(smaller.clone()));
        }
    }
    if may_drop_items && select.items.len() > 1 {
        for i in 0..select.items.len() {
            add(&|select| {
                select.items.remove(i);
            });
        }
    }
    if let Some(group) = &select.group {
        if group.having.is_some() {
            add(&|select| select.group.iter_mut().for_each(|group| group.having = None));
        }
        for (i, call) in group.aggregates.iter().enumerate() {
            if call.filter.is_some() {
                add(&|select| {
                    select.group.iter_mut().for_each(|group| group.aggregates[i].filter = None);
                });
            }
        }
        for (i, key) in group.keys.iter().enumerate() {
            for smaller in smaller_exprs(key) {
                add(&|select| {
                    select.group.iter_mut().for_each(|group| group.keys[i] = smaller.clone());
                });
            }
        }
    }
    for (i, item) in select.from.iter().enumerate() {
        for smaller in item.on.iter().flat_map(smaller_exprs) {
            add(&|select| select.from[i].on = Some(smaller.clone()));
        }
        if let Source::Query(query) = &item.source {
            for smaller in smaller_queries(query) {
                // The columns are numbered.
                if smaller.kinds() == query.kinds() {
                    add(&|select| select.from[i].source = Source::Query(Box::new(smaller.clone())));
                }
            }
        }
    }
    for (i, item) in select.items.iter().enumerate() {
        for smaller in smaller_exprs(item) {
            add(&|select| select.items[i] = smaller.clone());
        }
    }
    found
}

/// Expressions of the same type with one part less.
fn smaller_exprs(expr: &Expr) -> Vec<Expr> {
    let mut copy = expr.clone();
    let mut found: Vec<Expr> = Vec::new();
    let parts: Vec<Expr> = children(&mut copy).into_iter().map(|child| child.clone()).collect();
    found.extend(parts.iter().filter(|part| part.kind() == expr.kind()).cloned());
    match expr {
        Expr::And(terms) | Expr::Or(terms) if terms.len() > 2 => {
            for i in 0..terms.len() {
                let mut fewer = terms.clone();
                fewer.remove(i);
                let is_and = matches!(expr, Expr::And(_));
                found.push(if is_and { Expr::And(fewer) } else { Expr::Or(fewer) });
            }
        }
        Expr::InList { input, list, negated } if list.len() > 1 => {
            for i in 0..list.len() {
                let mut list = list.clone();
                list.remove(i);
                found.push(Expr::InList { input: input.clone(), list, negated: *negated });
            }
        }
        _ => {}
    }
    if let Some(query) = subquery(&mut copy) {
        let kinds = query.kinds();
        for smaller in smaller_queries(&query.clone()) {
            if smaller.kinds() == kinds {
                let mut changed = expr.clone();
                if let Some(query) = subquery(&mut changed) {
                    *query = smaller;
                }
                found.push(changed);
            }
        }
    }
    for (i, part) in parts.iter().enumerate() {
        for smaller in smaller_exprs(part) {
            let mut changed = expr.clone();
            *children(&mut changed).swap_remove(i) = smaller;
            found.push(changed);
        }
    }
    found
}

fn subquery(expr: &mut Expr) -> Option<&mut Query> {
    match expr {
        Expr::Exists { query, .. } | Expr::InQuery { query, .. } | Expr::Scalar(query, _) => {
            Some(query)
        }
        _ => None,
    }
}

/// The expressions right below one.
fn children(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::Literal(..)
        | Expr::Column { .. }
        | Expr::Key(..)
        | Expr::Aggregate(..)
        | Expr::Exists { .. }
        | Expr::Scalar(..) => Vec::new(),
        Expr::Field(input, ..)
        | Expr::Not(input)
        | Expr::Cast(input, _)
        | Expr::IsNull { input, .. }
        | Expr::IsTruth { input, .. }
        | Expr::Like { input, .. }
        | Expr::InQuery { input, .. } => vec![input],
        Expr::And(terms) | Expr::Or(terms) | Expr::Call(_, terms, _) => terms.iter_mut().collect(),
        Expr::Compare(_, left, right) => vec![left, right],
        Expr::Between { input, low, high, .. } => vec![input, low, high],
        Expr::InList { input, list, .. } => std::iter::once(&mut **input).chain(list).collect(),
        Expr::Case { branches, default, .. } => {
            let parts = branches.iter_mut().flat_map(|(condition, value)| [condition, value]);
            parts.chain(default.as_deref_mut()).collect()
        }
    }
}
