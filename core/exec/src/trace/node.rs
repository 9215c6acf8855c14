//! Graph of expressions: constants, and shared nodes with a key.
//!
//! A node has its operation, its operands and a key of 128 bits made of both. Two nodes are *the
//! same* if their keys are; two different ones share a key with a probability of about
//! `n^2 / 2^129` among n nodes. So equality costs nothing, and equal nodes are found without a
//! table.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ir::{Kind, Mixed, Number2, Op};

use super::{
    callee::CalleeData,
    constant::Constant,
    key::{CALL, CONSTANT, LOCAL, SYMBOL, kind_key, mix, op_key, text_key},
};

/// A part of an expression.
#[derive(Clone)]
pub(super) enum Sym {
    /// A constant real number.
    Const(Constant),
    /// Anything else.
    Node(Arc<Node>),
}

/// An operation on parts.
pub(super) struct Node {
    pub(super) node_kind: NodeKind,
    pub(super) args: SmallVec<[Sym; 2]>,
    pub(super) kind: Kind,
    key: u128,
}

/// Content of a node.
pub(super) enum NodeKind {
    /// An input.
    Symbol(SymbolNode),
    /// An operation of the table.
    Op(Op),
    /// A call of something registered.
    Call(Arc<CalleeData>),
}

/// An input.
#[derive(Clone, Debug)]
pub(super) struct SymbolNode {
    pub(super) name: Arc<str>,
    /// The input of one recording, different from every other of its name.
    pub(super) local: bool,
}

impl Sym {
    pub(super) fn int(n: i64) -> Sym {
        Sym::Const(Constant::int(n))
    }

    /// Creates a free input: the same wherever its name and kind are.
    pub(super) fn symbol(name: &str, kind: Kind) -> Sym {
        let key = mix(mix(SYMBOL, kind_key(&kind)), text_key(name));
        let what = NodeKind::Symbol(SymbolNode { name: name.into(), local: false });
        Sym::Node(Arc::new(Node { node_kind: what, args: SmallVec::new(), kind, key }))
    }

    /// Creates an input of one recording. Its key is the address of its name, which lives as long
    /// as it does.
    pub(super) fn local(name: &str, kind: Kind) -> Sym {
        let name: Arc<str> = name.into();
        let address = Arc::as_ptr(&name).cast::<u8>() as usize;
        let key = mix(mix(LOCAL, kind_key(&kind)), address as u128);
        let what = NodeKind::Symbol(SymbolNode { name, local: true });
        Sym::Node(Arc::new(Node { node_kind: what, args: SmallVec::new(), kind, key }))
    }

    /// Creates an operation, without rewriting it.
    pub(super) fn op(op: Op, args: &[Sym], kind: Kind) -> Sym {
        let mut keys: SmallVec<[u128; 3]> = args.iter().map(Sym::key).collect();
        if matches!(op, Op::Number2(Number2::Add | Number2::Mul)) {
            keys.sort_unstable();
        }
        let start = mix(op_key(op), kind_key(&kind));
        let key = keys.into_iter().fold(start, mix);
        let args = args.iter().cloned().collect();
        Sym::Node(Arc::new(Node { node_kind: NodeKind::Op(op), args, kind, key }))
    }

    /// Creates a call.
    pub(super) fn call(callee: Arc<CalleeData>, args: &[Sym], kind: Kind) -> Sym {
        let start = mix(CALL, callee.key);
        let key = args.iter().fold(start, |h, a| mix(h, a.key()));
        Sym::Node(Arc::new(Node {
            node_kind: NodeKind::Call(callee),
            args: args.iter().cloned().collect(),
            kind,
            key,
        }))
    }

    /// Returns the key that identifies it.
    pub(super) fn key(&self) -> u128 {
        match self {
            Sym::Const(c) => c.key().into_iter().fold(CONSTANT, |h, x| mix(h, u128::from(x))),
            Sym::Node(n) => n.key,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Sym::Const(_) => Kind::Real,
            Sym::Node(n) => n.kind.clone(),
        }
    }

    /// Returns the operands if it is this operation.
    pub(super) fn args_of(&self, op: Op) -> Option<&[Sym]> {
        match self {
            Sym::Node(n) if matches!(&n.node_kind, NodeKind::Op(o) if *o == op) => Some(&n.args),
            _ => None,
        }
    }

    /// Returns the constant, if it is one, also as a complex number.
    pub(super) fn constant(&self) -> Option<Constant> {
        match self {
            Sym::Const(c) => Some(*c),
            Sym::Node(_) => self.args_of(Op::Mixed(Mixed::Promote))?[0].constant(),
        }
    }

    pub(super) fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Sym::Const(_) => None,
            Sym::Node(n) => Some(n),
        }
    }
}

/// A chain of a million nodes is dropped in a loop, not in a million nested calls.
impl Drop for Node {
    fn drop(&mut self) {
        let mut rest: Vec<Sym> = self.args.drain(..).collect();
        while let Some(sym) = rest.pop() {
            if let Sym::Node(arc) = sym
                && let Some(mut node) = Arc::into_inner(arc)
            {
                rest.extend(node.args.drain(..));
            }
        }
    }
}

/// Visits every node that is reachable from the roots once, in post-order: operands before the
/// nodes that use them, from left to right. O(nodes), without recursion.
pub(super) fn visit<'a, E>(
    roots: impl IntoIterator<Item = &'a Sym>,
    mut each: impl FnMut(&'a Sym) -> Result<(), E>,
) -> Result<(), E> {
    let mut seen = std::collections::HashSet::new();
    for root in roots {
        let mut stack = vec![(root, 0)];
        while let Some((sym, next)) = stack.pop() {
            if next == 0 && seen.contains(&sym.key()) {
                continue;
            }
            let arg = sym.node().and_then(|n| n.args.get(next));
            match arg {
                Some(arg) => {
                    stack.push((sym, next + 1));
                    stack.push((arg, 0));
                }
                None if seen.insert(sym.key()) => each(sym)?,
                None => {}
            }
        }
    }
    Ok(())
}
