//! Random scan specs: some columns in some order, read or only filtered, with members left out.

use arrow_schema::DataType;
use dwio::scan_spec::{ColumnSource, ColumnSpec, FieldSpec, NestedSpec};
use vector::sync::Arc;
use vector::{RowType, Type};

use super::filters::{Model, random_filter};
use super::values::{Datum, Place, Table};
use crate::random_files::one_of;
use crate::support::random::Random;

/// Spec of a column, with the models of its filters.
pub(super) struct Wanted {
    pub(super) spec: ColumnSpec,
    pub(super) place: Place,
    tests: Vec<(Place, Model)>,
}

impl Wanted {
    /// Returns true when a row passes the column's filters and those of its members.
    pub(super) fn passes(&self, table: &Table, row: usize) -> bool {
        self.tests.iter().all(|(place, model)| model.passes(&table.datum(place, row)))
    }

    /// Adds a filter on the column itself.
    pub(super) fn narrow(&mut self, model: Model) {
        self.tests.push((self.place.clone(), model));
    }

    /// Returns the column's value in a row as canonical text, without the members that are left
    /// out.
    pub(super) fn text(&self, table: &Table, row: usize) -> String {
        text(&self.spec, &self.place, table, row)
    }
}

fn text(spec: &ColumnSpec, place: &Place, table: &Table, row: usize) -> String {
    let (NestedSpec::Row(fields), DataType::Struct(names)) = (&spec.nested, table.ty(place)) else {
        return table.text(place, row);
    };
    if table.is_null(place, row) {
        return "null".to_string();
    }
    let members = fields.iter().zip(names).enumerate().map(|(member, (field, name))| {
        let value = match field {
            FieldSpec::Pruned => "null".to_string(),
            FieldSpec::Wanted(spec) => text(spec, &place.member(member), table, row),
        };
        format!("\"{}\":{value}", name.name())
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Returns some of the columns of a file in any order, some of them with filters.
pub(super) fn random_columns(
    table: &Table,
    row_type: &RowType,
    random: &mut Random,
) -> Vec<Wanted> {
    let mut order: Vec<usize> = (0..row_type.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    order.truncate(1 + random.below(order.len() as u64) as usize);
    let chance = one_of(random, &[1, 3, 6]);
    let mut columns: Vec<Wanted> = Vec::with_capacity(order.len());
    for (channel, column) in order.into_iter().enumerate() {
        let Some((name, ty)) = row_type.fields().nth(column) else { continue };
        let mut made = Making { table, chance, random, tests: Vec::new() };
        let place = Place::column(column);
        let mut spec = made.spec(name, ty, &place);
        let tests = made.tests;
        spec.channel = (!random.once_in(4)).then_some(channel);
        columns.push(Wanted { spec, place, tests });
    }
    columns
}

/// Returns values of a column that occur.
pub(super) fn samples(table: &Table, place: &Place, random: &mut Random) -> Vec<Datum> {
    if table.num_rows() == 0 {
        return Vec::new();
    }
    let rows = (0..20).map(|_| random.below(table.num_rows() as u64) as usize);
    rows.map(|row| table.datum(place, row)).filter(|datum| *datum != Datum::Null).collect()
}

/// Builder of a spec and its filters.
struct Making<'a> {
    table: &'a Table,
    /// One path in `chance` has a filter.
    chance: u64,
    random: &'a mut Random,
    tests: Vec<(Place, Model)>,
}

impl Making<'_> {
    fn spec(&mut self, name: &str, ty: &Type, place: &Place) -> ColumnSpec {
        let filter = self.random.once_in(self.chance).then(|| {
            let samples = samples(self.table, place, self.random);
            let (filter, model) = random_filter(ty, &samples, self.random);
            self.tests.push((place.clone(), model));
            Arc::new(filter)
        });
        let nested = match ty {
            Type::Row(row) if self.random.once_in(2) => NestedSpec::Row(self.fields(row, place)),
            _ => NestedSpec::Whole,
        };
        let is_narrow = matches!(ty, Type::TinyInt | Type::SmallInt | Type::Integer);
        let is_widened = is_narrow && place.members.is_empty() && self.random.once_in(6);
        ColumnSpec {
            name: name.to_string(),
            ty: if is_widened { Type::BigInt } else { ty.clone() },
            source: ColumnSource::Regular,
            channel: Some(place.members.last().copied().unwrap_or_default()),
            filter,
            nested,
        }
    }

    fn fields(&mut self, row: &RowType, place: &Place) -> Vec<FieldSpec> {
        let fields =
            row.fields().enumerate().map(|(member, (name, ty))| match self.random.once_in(3) {
                true => FieldSpec::Pruned,
                false => FieldSpec::Wanted(self.spec(name, ty, &place.member(member))),
            });
        fields.collect()
    }
}
