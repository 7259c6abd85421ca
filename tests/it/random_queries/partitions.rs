//! A condition cuts a table in three: rows for which it holds, for which its opposite holds, and for
//! which it is unknown. Together they are all rows, and none of the three fails where the others do
//! not.

use super::ast::{Body, Expr, Query, Select};
use super::compare::difference;
use super::print;
use super::queries::Generator;
use super::run::World;
use super::settings::Settings;
use crate::support::random::Random;
use vector::ErrorKind;

/// What is wrong with a random condition over random relations, if something is.
pub(super) fn failure(world: &World, random: &mut Random) -> Option<String> {
    let (from, condition, items) = {
        let mut generator = Generator::new(random, &world.tables);
        let (from, scope) = generator.from();
        let condition = generator.condition(&scope, 3);
        let items: Vec<Expr> = scope.columns.iter().map(|column| column.expr.clone()).collect();
        (from, condition, items)
    };
    let query = |filter: Option<Expr>| {
        let (items, from) = (items.clone(), from.clone());
        Query::of(Body::Select(Box::new(Select {
            distinct: false,
            items,
            from,
            filter,
            group: None,
        })))
    };
    let all = query(None);
    let not = Expr::Not(Box::new(condition.clone()));
    let unknown = Expr::IsNull { input: Box::new(condition.clone()), negated: false };
    let mut parts = Vec::new();
    let mut whole = Vec::new();
    let mut told = Vec::new();
    for (part, query) in [
        (false, all.clone()),
        (true, query(Some(condition))),
        (true, query(Some(not))),
        (true, query(Some(unknown))),
    ] {
        let drivers = 1 + random.below(3) as usize;
        let settings = Settings::random(drivers, random);
        let sql = print::sql(&query, &world.paths);
        told.push(format!("{sql}\n    {}", settings.describe()));
        match world.run(&sql, &query.kinds(), &settings) {
            Ok(rows) if part => parts.extend(rows),
            Ok(rows) => whole = rows,
            Err(error) if error.kind() == ErrorKind::Unsupported => return None,
            Err(error) => return Some(format!("{error}\n  {}", told.join("\n  "))),
        }
    }
    let difference = difference(&all, &parts, &whole)?;
    Some(format!("the three parts: {difference}\n  {}", told.join("\n  ")))
}
