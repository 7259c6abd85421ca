//! A simple evaluator that evaluates row by row and supports a few functions.

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::build::vector_of;
use vector::sync::Arc;
use vector::sync::atomic::{AtomicI64, Ordering};
use vector::{
    DecodedVector, Error, Result, RowType, RowVector, SelectivityVector, Value, VectorRef,
};

#[derive(Debug)]
pub(super) struct RowByRow;

struct Compiled(TypedExpr);

impl ExpressionEvaluator for RowByRow {
    fn compile(&self, expr: &TypedExpr, input: &Arc<RowType>) -> Result<Box<dyn CompiledExpr>> {
        expr.check_against(input)?;
        Ok(Box::new(Compiled(expr.clone())))
    }

    /// Returns false for `rand` and `rand_int`, which are random without and with arguments.
    fn is_deterministic(&self, expr: &TypedExpr) -> bool {
        let mut is_deterministic = true;
        expr.visit(&mut |part| {
            if let TypedExpr::Call { name, .. } = part {
                is_deterministic &= !matches!(&**name, "rand" | "rand_int");
            }
        });
        is_deterministic
    }
}

impl CompiledExpr for Compiled {
    fn evaluate(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<VectorRef> {
        let values = (0..batch.len()).map(|row| match rows.contains(row) {
            true => value(&self.0, batch, row),
            false => Ok(Value::Null),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        vector_of(self.0.ty(), &values)
    }
}

fn value(expr: &TypedExpr, batch: &RowVector, row: usize) -> Result<Value> {
    let (name, args) = match expr {
        TypedExpr::Field { name, .. } => {
            let column = batch.row_type().index_of(name).unwrap();
            return DecodedVector::new(batch.child(column)?)?.value(row);
        }
        TypedExpr::Constant { value, .. } => return Ok(value.clone()),
        TypedExpr::Dereference { input, index, .. } => {
            return Ok(match value(input, batch, row)? {
                Value::Row(fields) => fields[*index].clone(),
                _ => Value::Null,
            });
        }
        TypedExpr::Call { name, args, .. } => (name, args),
        _ => return Err(Error::unsupported("not in the test evaluator")),
    };
    let args = args.iter().map(|a| value(a, batch, row)).collect::<Result<Vec<_>>>()?;
    if &**name == "fail" {
        return Err(Error::invalid_input("asked to fail"));
    }
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    Ok(match &**name {
        "eq" => Value::Boolean(args[0] == args[1]),
        "gt" => Value::Boolean(args[0] > args[1]),
        "lt" => Value::Boolean(args[0] < args[1]),
        "and" => Value::Boolean(args.iter().all(|a| *a == Value::Boolean(true))),
        "five" => Value::BigInt(5),
        // Returns the next number of a sequence, so that equal calls return different values.
        "rand_int" => {
            static NEXT: AtomicI64 = AtomicI64::new(0);
            Value::BigInt(NEXT.fetch_add(1, Ordering::Relaxed) % args[0].as_i64().unwrap())
        }
        "plus" => Value::BigInt(args[0].as_i64().unwrap() + args[1].as_i64().unwrap()),
        _ => return Err(Error::unsupported("not in the test evaluator").with("name", name)),
    })
}
