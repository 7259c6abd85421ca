//! The compiler: translates typed expressions to a program, a list of nodes in which inputs precede
//! their users.
//!
//! ```text
//! (a + 1) * 2 > 5, length(lower(s)) = length(lower(s))
//!
//! 0 field a    1 constant 1    2 plus(0, 1)    3 constant 2    4 multiply(2, 3)
//! 5 constant 5 6 gt(4, 5)      7 field s       8 lower(7)      9 length(8)     10 eq(9, 9)
//! ```
//!
//! Equal subtrees become one node, columns become channels, and implicit conversions become casts.
//! A node over constants is folded; if that fails, the node stays and fails when a row requires it.
//! BETWEEN, NULLIF and IN over non-constant values are expanded to simpler nodes.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, Result, RowType, RowVector, SelectivityVector, Type, Value, Vector,
    VectorRef,
};

use super::bounded::folding_scope;
use super::eval::{Evaluation, Memory};
use super::functions::cast;
use super::functions::comparison::logic;
use super::functions::comparison::operators::{self, Comparison};
use super::kernel::{Argument, Kernel};
use super::lambda_call::HigherOrder;
use super::peel::apply;
use super::program::{Lambda, Node, NodeId, Operation, Program};
use super::registry::{Body, Form, FunctionRegistry};

/// Maximum nesting depth of an expression, so that no query can exhaust the stack.
pub(super) const MAX_DEPTH: usize = 256;

/// Identity of a node: nodes with equal keys are shared.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The operation with all parameters except type and inputs.
    what: String,
    ty: Type,
    inputs: Vec<NodeId>,
}

/// Compiles `exprs` over rows of `input`.
pub(super) fn compile(
    exprs: &[TypedExpr],
    input: &Arc<RowType>,
    registry: &FunctionRegistry,
) -> Result<Program> {
    let mut compiler =
        Compiler { program: Program::default(), known: HashMap::new(), input, registry, depth: 0 };
    for expr in exprs {
        expr.check_against(input)?;
        let root = compiler.expr(expr)?;
        compiler.used(root);
        compiler.program.roots.push(root);
    }
    Ok(compiler.program)
}

struct Compiler<'a> {
    program: Program,
    known: HashMap<Key, NodeId>,
    input: &'a Arc<RowType>,
    registry: &'a FunctionRegistry,
    depth: usize,
}

impl Compiler<'_> {
    fn expr(&mut self, expr: &TypedExpr) -> Result<NodeId> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("an expression is nested too deep").with("max", MAX_DEPTH));
        }
        let node = match expr {
            TypedExpr::Field { name, ty } => {
                let channel = self.input.index_of(name).ok_or_else(|| {
                    Error::internal("an expression uses a column its input has not")
                        .with("column", name)
                })?;
                self.node(format!("field {channel}"), ty.clone(), vec![], |_| {
                    Ok(Operation::Field(channel))
                })?
            }
            TypedExpr::Constant { value, ty } => self.constant(value.clone(), ty.clone())?,
            TypedExpr::Call { name, args, ty } => {
                let call = self.call(name, args, ty)?;
                if !self.ty(call).is_equivalent(ty) {
                    return Err(Error::internal("a call was given another type than it has")
                        .with("name", name)
                        .with("given", ty)
                        .with("found", self.ty(call)));
                }
                call
            }
            TypedExpr::Cast { input, ty, try_cast } => {
                let input = self.expr(input)?;
                self.cast(input, ty, *try_cast)?
            }
            TypedExpr::Dereference { input, index, ty } => {
                let fits = |row: &Arc<RowType>| row.types().get(*index).is_some_and(|t| t == ty);
                if !input.ty().as_row().is_some_and(fits) {
                    return Err(Error::internal("a struct has no such field")
                        .with("struct", input.ty())
                        .with("index", index));
                }
                let input = self.expr(input)?;
                self.node(format!("dereference {index}"), ty.clone(), vec![input], |_| {
                    Ok(Operation::Dereference(input, *index))
                })?
            }
            TypedExpr::Lambda { .. } => {
                return Err(Error::invalid_input("a lambda where no function takes one")
                    .with("lambda", expr));
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn ty(&self, node: NodeId) -> &Type {
        &self.program.nodes[node].ty
    }

    fn used(&mut self, node: NodeId) {
        self.program.nodes[node].num_uses += 1;
    }

    fn constant_value(&self, node: NodeId) -> Option<&Value> {
        match &self.program.nodes[node].operation {
            Operation::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn constant(&mut self, value: Value, ty: Type) -> Result<NodeId> {
        if !value.fits(&ty) {
            return Err(Error::internal("a constant does not fit its type").with("type", ty));
        }
        // Values -0 and 0 are equal, but their debug texts differ.
        let what = format!("constant {value:?}");
        self.node(what, ty, vec![], |_| Ok(Operation::Constant(value)))
    }

    /// Returns the node for an operation: an existing one, a new one, or its folded constant.
    fn node(
        &mut self,
        what: String,
        ty: Type,
        inputs: Vec<NodeId>,
        operation: impl FnOnce(&Self) -> Result<Operation>,
    ) -> Result<NodeId> {
        let key = Key { what, ty, inputs };
        if let Some(node) = self.known.get(&key) {
            return Ok(*node);
        }
        let operation = operation(self)?;
        let inputs_are_constant = !key.inputs.is_empty()
            && key.inputs.iter().all(|input| self.constant_value(*input).is_some());
        let id = self.add(operation, key.ty.clone(), &key.inputs);
        if inputs_are_constant && let Some(value) = self.fold(id) {
            self.program.nodes[id].operation = Operation::Constant(value);
        }
        self.known.insert(key, id);
        Ok(id)
    }

    /// Adds a node that is not shared with equal ones.
    fn add(&mut self, operation: Operation, ty: Type, inputs: &[NodeId]) -> NodeId {
        inputs.iter().for_each(|input| self.used(*input));
        self.program.nodes.push(Node { operation, ty, num_uses: 0 });
        self.program.nodes.len() - 1
    }

    /// Returns the value of a node with constant inputs. Returns `None` when it fails; the first
    /// row that requires the node reports the error.
    fn fold(&self, id: NodeId) -> Option<Value> {
        let _scope = folding_scope();
        let node = &self.program.nodes[id];
        let row = SelectivityVector::all(1);
        let vector = match &node.operation {
            // Most folded nodes are calls, possibly one for each member of a long list.
            Operation::Call { kernel, args, .. } => {
                let vectors: Option<Vec<VectorRef>> = args
                    .iter()
                    .map(|arg| {
                        let (ty, value) = (self.ty(*arg).clone(), self.constant_value(*arg)?);
                        Vector::constant(ty, value.clone(), 1).ok().map(Arc::new)
                    })
                    .collect();
                apply(kernel, &vectors?, &row, &node.ty, None).ok()?
            }
            _ => {
                let batch = RowVector::batch(Arc::new(RowType::empty()), 1, vec![]).ok()?;
                let mut memory = Memory::for_program(&self.program);
                Evaluation::new(&self.program, &mut memory, &batch).node(id, &row).ok()?
            }
        };
        DecodedVector::new(&vector).ok()?.value(0).ok()
    }

    /// Casts `node` to `ty`.
    fn cast(&mut self, node: NodeId, ty: &Type, null_on_failure: bool) -> Result<NodeId> {
        let from = self.ty(node).clone();
        if from.is_equivalent(ty) {
            return Ok(node);
        }
        if from == Type::Unknown {
            return self.constant(Value::Null, ty.clone());
        }
        let what = format!("cast {null_on_failure}");
        self.node(what, ty.clone(), vec![node], |this| {
            let kernel = cast::bind(&from, ty, null_on_failure)?;
            Ok(this.operation_of_call(kernel, vec![node]))
        })
    }

    fn call(&mut self, name: &str, args: &[TypedExpr], declared: &Type) -> Result<NodeId> {
        let registry = self.registry;
        let function = registry.function(name)?;
        if let Body::HigherOrder(function) = &function.body {
            return self.higher_order(name, *function, args, declared);
        }
        let args = match function.body {
            Body::Form(form @ (Form::And | Form::Or)) => self.flattened(name, form, args)?,
            _ => args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?,
        };
        let types: Vec<Type> = args.iter().map(|arg| self.ty(*arg).clone()).collect();
        let resolved = self.registry.resolve(name, &types)?;
        let mut inputs = Vec::with_capacity(args.len());
        for (arg, ty) in args.into_iter().zip(&resolved.args) {
            inputs.push(self.cast(arg, ty, false)?);
        }
        // The caller determines the names of struct fields.
        let is_same = declared.is_equivalent(&resolved.result);
        let ty = if is_same { declared.clone() } else { resolved.result };
        match &function.body {
            Body::Form(form) => self.form(*form, inputs, ty),
            // Calls of a non-deterministic function are neither shared nor folded.
            body if !function.deterministic => {
                let kernel = body.bind(&self.arguments(&inputs), &ty)?.non_deterministic();
                let operation = self.operation_of_call(kernel, inputs.clone());
                Ok(self.add(operation, ty, &inputs))
            }
            body => self.scalar(name, inputs, ty, |args, result| body.bind(args, result)),
        }
    }

    /// Compiles a call with lambdas, each of which becomes a program of its own over elements.
    fn higher_order(
        &mut self,
        name: &str,
        function: HigherOrder,
        args: &[TypedExpr],
        declared: &Type,
    ) -> Result<NodeId> {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
        let resolved = self.registry.resolve(name, &types)?;
        let (mut inputs, mut captured, mut lambdas) = (Vec::new(), Vec::new(), Vec::new());
        for (arg, ty) in args.iter().zip(&resolved.args) {
            if let TypedExpr::Lambda { columns, captures, body } = arg {
                let captures = captures.iter().map(|capture| self.expr(capture));
                let captures = captures.collect::<Result<Vec<_>>>()?;
                captured.extend(captures.iter().copied());
                let body = match body.ty().is_equivalent(ty) {
                    true => (**body).clone(),
                    false => TypedExpr::cast((**body).clone(), ty.clone()),
                };
                let program = compile(&[body], columns, self.registry)?;
                lambdas.push(Lambda::new(program, Arc::clone(columns), captures)?);
            } else {
                let arg = self.expr(arg)?;
                inputs.push(self.cast(arg, ty, false)?);
            }
        }
        let types: Vec<&Type> = inputs.iter().map(|input| self.ty(*input)).collect();
        check_lambdas(function, &types, &lambdas).map_err(|error| error.with("function", name))?;
        let is_same = declared.is_equivalent(&resolved.result);
        let ty = if is_same { declared.clone() } else { resolved.result };
        // The text of a lambda omits types, its debug form does not.
        let what = format!("call {name} {args:?}");
        let all: Vec<NodeId> = inputs.iter().copied().chain(captured).collect();
        if !args.iter().all(|arg| self.registry.is_deterministic(arg)) {
            return Ok(self.add(
                Operation::HigherOrder { function, args: inputs, lambdas },
                ty,
                &all,
            ));
        }
        self.node(what, ty, all, |_| Ok(Operation::HigherOrder { function, args: inputs, lambdas }))
    }

    /// Returns the terms of a conjunction or disjunction, with nested ones flattened in place.
    fn flattened(&mut self, name: &str, form: Form, args: &[TypedExpr]) -> Result<Vec<NodeId>> {
        let mut terms = Vec::with_capacity(args.len());
        let mut rest: Vec<&TypedExpr> = args.iter().rev().collect();
        while let Some(expr) = rest.pop() {
            match expr {
                TypedExpr::Call { name: inner, args, .. }
                    if self
                        .registry
                        .function(inner)
                        .is_ok_and(|f| matches!(f.body, Body::Form(inner) if inner == form)) =>
                {
                    rest.extend(args.iter().rev());
                }
                term => terms.push(self.expr(term)?),
            }
        }
        if terms.is_empty() {
            return Err(Error::internal("a junction without terms").with("name", name));
        }
        Ok(terms)
    }

    fn scalar(
        &mut self,
        name: &str,
        inputs: Vec<NodeId>,
        ty: Type,
        bind: impl FnOnce(&[Argument<'_>], &Type) -> Result<Kernel>,
    ) -> Result<NodeId> {
        let (args, result) = (inputs.clone(), ty.clone());
        self.node(format!("call {name}"), ty, inputs, |this| {
            let kernel = bind(&this.arguments(&args), &result)?;
            Ok(this.operation_of_call(kernel, args))
        })
    }

    fn arguments(&self, nodes: &[NodeId]) -> Vec<Argument<'_>> {
        let argument =
            |node: &NodeId| Argument { ty: self.ty(*node), constant: self.constant_value(*node) };
        nodes.iter().map(argument).collect()
    }

    fn operation_of_call(&self, kernel: Kernel, args: Vec<NodeId>) -> Operation {
        let mut varying = (0..args.len()).filter(|i| self.constant_value(args[*i]).is_none());
        let memo = match (varying.next(), varying.next()) {
            (only, None) => only,
            _ => None,
        };
        drop(varying);
        Operation::Call { kernel, args, memo }
    }

    fn comparison(&mut self, comparison: Comparison, a: NodeId, b: NodeId) -> Result<NodeId> {
        let name = format!("{comparison:?}").to_lowercase();
        self.scalar(&name, vec![a, b], Type::Boolean, |args, _| operators::bind(comparison, args))
    }

    fn form(&mut self, form: Form, inputs: Vec<NodeId>, ty: Type) -> Result<NodeId> {
        match (form, inputs.as_slice()) {
            (Form::Between, [value, low, high]) => {
                let above = self.comparison(Comparison::Gte, *value, *low)?;
                let below = self.comparison(Comparison::Lte, *value, *high)?;
                let is_known = |bound: &NodeId| {
                    self.constant_value(*bound).is_some_and(|value| !value.is_null())
                };
                if is_known(low) && is_known(high) {
                    return self.form(Form::And, vec![above, below], Type::Boolean);
                }
                // A null bound makes the result null, even where the other bound is violated (as in
                // Velox).
                self.scalar("both", vec![above, below], Type::Boolean, |_, _| {
                    Ok(Kernel::new(logic::both))
                })
            }
            (Form::NullIf, [value, other]) => {
                let (value, other) = (*value, *other);
                let same = self.comparison(Comparison::Eq, value, other)?;
                let null = self.constant(Value::Null, ty.clone())?;
                self.form(Form::Switch, vec![same, null, value], ty)
            }
            (Form::In, [value, list @ ..]) => self.in_list(*value, list),
            (Form::And | Form::Or, [term]) => Ok(*term),
            (Form::And, _) => {
                let terms = inputs.clone();
                self.node("and".into(), ty, inputs, |_| Ok(Operation::And(terms)))
            }
            (Form::Or, _) => {
                let terms = inputs.clone();
                self.node("or".into(), ty, inputs, |_| Ok(Operation::Or(terms)))
            }
            (Form::Coalesce, [only]) => Ok(*only),
            (Form::Try, [only]) => {
                let only = *only;
                self.node("try".into(), ty, inputs, |_| Ok(Operation::Try(only)))
            }
            (Form::Coalesce, _) => {
                let terms = inputs.clone();
                self.node("coalesce".into(), ty, inputs, |_| Ok(Operation::Coalesce(terms)))
            }
            (Form::Switch, _) => {
                let (pairs, rest) = inputs.as_chunks::<2>();
                let branches =
                    pairs.iter().map(|[condition, value]| (*condition, *value)).collect();
                let otherwise = rest.first().copied();
                self.node("switch".into(), ty, inputs, |_| {
                    Ok(Operation::Switch { branches, otherwise })
                })
            }
            (form, _) => Err(Error::internal("a special form has too few arguments")
                .with("form", format!("{form:?}"))),
        }
    }

    fn in_list(&mut self, value: NodeId, list: &[NodeId]) -> Result<NodeId> {
        let constants: Option<Vec<Value>> =
            list.iter().map(|member| self.constant_value(*member).cloned()).collect();
        let Some(constants) = constants else {
            let mut terms = Vec::with_capacity(list.len());
            for member in list {
                terms.push(self.comparison(Comparison::Eq, value, *member)?);
            }
            return self.form(Form::Or, terms, Type::Boolean);
        };
        let ty = self.ty(value).clone();
        self.scalar(&format!("in {constants:?}"), vec![value], Type::Boolean, |_, _| {
            logic::bind_in(&ty, &constants)
        })
    }
}

/// Checks that the lambdas take the arguments that the function passes to them.
fn check_lambdas(function: HigherOrder, args: &[&Type], lambdas: &[Lambda]) -> Result<()> {
    let wanted = function.parameters(args)?;
    if wanted.len() != lambdas.len() {
        return Err(Error::invalid_input("a function takes another number of lambdas")
            .with("expected", wanted.len())
            .with("found", lambdas.len()));
    }
    wanted.iter().zip(lambdas).try_for_each(|(wanted, lambda)| lambda.check(wanted))
}
