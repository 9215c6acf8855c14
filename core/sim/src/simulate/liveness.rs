//! Liveness of classical bits: a bit is dead if it is never read again before it is written.
//!
//! Branches of a circuit that differ in dead bits only have the same future. Liveness is not stored
//! as a set for each step but as what changes from one to the next: only the bits that a step uses
//! can die in it, and where a loop is entered or left, those that its body uses. So a circuit of
//! any number of steps and bits takes memory for the places where it mentions a bit, once for each
//! loop around them.
//!
//! ```text
//! while (c != 0) {  reset q;  h q;  c = measure q;  if (d) x q; }      d dies where the loop is left,
//!                └─ c dies: it is written before it is read                if nothing reads it later
//! ```
//! A body reads some bits before it writes them (`uses`). What is live at the head of its loop is
//! that, the bits of the condition, and what is live after the loop: the least fixed point, since a
//! body makes no other bit live.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::{
    Bits,
    program::{Action, BoundCircuit, SimulationStep},
};
use crate::scalar::Ring;

/// Liveness of the bits, as those that die between each step and the next.
#[derive(Debug)]
pub(super) struct BitLiveness {
    /// Bits that die from step k to k + 1.
    next: Vec<SmallVec<[u32; 2]>>,
    /// Bits that die from the head of a loop to the step that follows the loop.
    leaving: HashMap<usize, Vec<u32>>,
}

/// Loop that is analyzed from its end: the difference of the live bits from those at the end of its
/// body.
#[derive(Default)]
struct LivenessDelta {
    added: HashSet<u32>,
    removed: HashSet<u32>,
}

impl LivenessDelta {
    fn add(&mut self, bit: u32) {
        if !self.removed.contains(&bit) {
            self.added.insert(bit);
        }
    }

    fn remove(&mut self, bit: u32) {
        if !self.added.remove(&bit) {
            self.removed.insert(bit);
        }
    }
}

impl BitLiveness {
    /// Analyzes a circuit, backwards. At the end all bits are live but those that final
    /// measurements write.
    pub(super) fn new<R: Ring>(circuit: &BoundCircuit<R>) -> BitLiveness {
        if circuit.has_classical_actions() {
            // Jumps between steps: nothing is taken for dead.
            return BitLiveness { next: Vec::new(), leaving: HashMap::new() };
        }
        let steps = &circuit.steps;
        let uses = uses_of_loops(steps);
        let mut next = vec![SmallVec::new(); steps.len()];
        let mut leaving = HashMap::new();
        // Bits that nothing writes are 0, live or not.
        let mut live: HashSet<u32> = steps.iter().flat_map(written).copied().collect();
        live.retain(|bit| !circuit.finals.contains_key(bit));
        let mut frames = vec![LivenessDelta::default()];
        for (at, step) in steps.iter().enumerate().rev() {
            match step.action {
                Action::BackEdge { head } => {
                    let at_head = uses.get(&head).into_iter().flatten().copied();
                    let dying: Vec<u32> = at_head.filter(|&bit| live.insert(bit)).collect();
                    if let Some(around) = frames.last_mut() {
                        dying.iter().for_each(|&bit| around.add(bit));
                    }
                    leaving.insert(head, dying);
                    frames.push(LivenessDelta::default());
                }
                Action::While { .. } => {
                    let body = frames.pop().unwrap_or_default();
                    next[at] = body.removed.into_iter().filter(|&bit| live.insert(bit)).collect();
                }
                _ => {
                    let mut touched: SmallVec<[u32; 2]> = read(step);
                    touched.extend_from_slice(written(step));
                    next[at] = touched.into_iter().filter(|bit| !live.contains(bit)).collect();
                    let Some(frame) = frames.last_mut() else { continue };
                    if let Some(bit) = overwritten(step)
                        && live.remove(&bit)
                    {
                        frame.remove(bit);
                    }
                    read(step)
                        .into_iter()
                        .filter(|&bit| live.insert(bit))
                        .for_each(|bit| frame.add(bit));
                }
            }
        }
        BitLiveness { next, leaving }
    }

    /// Clears the bits that die between a step and the next.
    pub(super) fn pass(&self, step: usize, bits: &mut Bits) {
        self.next.get(step).into_iter().flatten().for_each(|&bit| bits.set(bit, false));
    }

    /// Clears the bits that die where a loop is left.
    pub(super) fn leave(&self, head: usize, bits: &mut Bits) {
        self.leaving.get(&head).into_iter().flatten().for_each(|&bit| bits.set(bit, false));
    }
}

/// Returns the bits that each loop reads before it writes them, its condition included, by its
/// head.
fn uses_of_loops<R>(steps: &[SimulationStep<R>]) -> HashMap<usize, Vec<u32>> {
    let mut uses = HashMap::new();
    let mut around: Vec<HashSet<u32>> = vec![HashSet::new()];
    for (at, step) in steps.iter().enumerate().rev() {
        match step.action {
            Action::BackEdge { .. } => around.push(HashSet::new()),
            Action::While { .. } => {
                let mut body = around.pop().unwrap_or_default();
                body.extend(read(step));
                if let Some(outer) = around.last_mut() {
                    outer.extend(&body);
                }
                uses.insert(at, body.into_iter().collect());
            }
            _ => {
                let Some(body) = around.last_mut() else { continue };
                if let Some(bit) = overwritten(step) {
                    body.remove(&bit);
                }
                body.extend(read(step));
            }
        }
    }
    uses
}

/// Returns the bits that a step reads; a readout error reads the bits that it changes.
fn read<R>(step: &SimulationStep<R>) -> SmallVec<[u32; 2]> {
    let mut bits = SmallVec::new();
    if let Some(condition) = &step.condition {
        condition.for_each_bit(&mut |bit| bits.push(bit));
    }
    if let Action::ReadoutError(readout_error) = &step.action {
        bits.extend_from_slice(&readout_error.bits);
    }
    bits
}

pub(super) fn written<R>(step: &SimulationStep<R>) -> &[u32] {
    match &step.action {
        Action::Measure { bit, .. } | Action::Assign { bit, .. } => std::slice::from_ref(bit),
        Action::ReadoutError(readout_error) => &readout_error.bits,
        _ => &[],
    }
}

/// Returns the bit that a step writes whatever happened before.
fn overwritten<R>(step: &SimulationStep<R>) -> Option<u32> {
    match step.action {
        Action::Measure { bit, .. } | Action::Assign { bit, .. } if step.condition.is_none() => {
            Some(bit)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use rand_chacha::rand_core::Rng;

    use super::*;
    use crate::{circuit::Condition, state::stream};

    const BITS: u32 = 6;

    fn below(rng: &mut impl Rng, n: u64) -> u64 {
        rng.next_u64() % n
    }

    /// Random steps with loops in loops.
    fn program(rng: &mut impl Rng) -> BoundCircuit<f64> {
        let mut steps: Vec<SimulationStep<f64>> = Vec::new();
        let mut heads = Vec::new();
        for _ in 0..12 + below(rng, 12) {
            let bit = below(rng, u64::from(BITS)) as u32;
            let other = below(rng, u64::from(BITS)) as u32;
            let condition = Some(Arc::new(Condition::Bit { bit: other, value: true }));
            let condition = condition.filter(|_| below(rng, 2) == 0);
            match below(rng, 6) {
                0 => {
                    heads.push(steps.len());
                    let condition = Some(Arc::new(Condition::Bit { bit, value: true }));
                    steps.push(SimulationStep { action: Action::While { end: 0 }, condition });
                }
                1 => close(&mut steps, &mut heads),
                2 => steps.push(SimulationStep {
                    action: Action::Assign { bit, value: true },
                    condition,
                }),
                3 => steps.push(SimulationStep { action: Action::Reset { qubit: 0 }, condition }),
                _ => steps
                    .push(SimulationStep { action: Action::Measure { qubit: 0, bit }, condition }),
            }
        }
        while !heads.is_empty() {
            close(&mut steps, &mut heads);
        }
        let finals = (0..BITS).filter(|_| below(rng, 3) == 0).map(|bit| (bit, 0));
        let finals: BTreeMap<u32, u32> = finals.collect();
        BoundCircuit {
            n_qubits: 1,
            n_bits: BITS as usize,
            steps,
            finals,
            readout_errors: Vec::new(),
            tail: Vec::new(),
            for_outcomes: None,
            start: None,
            layout: crate::classical::MemoryLayout::default(),
            n_variables: 0,
        }
    }

    fn close(steps: &mut Vec<SimulationStep<f64>>, heads: &mut Vec<usize>) {
        let Some(head) = heads.pop() else { return };
        steps.push(SimulationStep { action: Action::BackEdge { head }, condition: None });
        steps[head].action = Action::While { end: steps.len() };
    }

    /// Returns the live bits at every step, by passes over all steps until nothing changes.
    fn by_passes(circuit: &BoundCircuit<f64>) -> Vec<HashSet<u32>> {
        let mut live = vec![HashSet::new(); circuit.steps.len() + 1];
        *live.last_mut().unwrap() =
            (0..BITS).filter(|bit| !circuit.finals.contains_key(bit)).collect();
        loop {
            let before = live.clone();
            for (at, step) in circuit.steps.iter().enumerate().rev() {
                let mut now: HashSet<u32> = match step.action {
                    Action::While { end } => live[at + 1].union(&live[end]).copied().collect(),
                    Action::BackEdge { head } => live[head].clone(),
                    _ => live[at + 1].clone(),
                };
                if let (Action::Measure { bit, .. } | Action::Assign { bit, .. }, None) =
                    (&step.action, &step.condition)
                {
                    now.remove(bit);
                }
                if let Some(condition) = &step.condition {
                    condition.for_each_bit(&mut |bit| now.extend([bit]));
                }
                live[at] = now;
            }
            if live == before {
                return live;
            }
        }
    }

    #[test]
    fn exactly_the_dead_bits_are_cleared_on_every_way_through_a_program() {
        let mut rng = stream(7, 0);
        let mut cleared = 0;
        for _ in 0..300 {
            let circuit = program(&mut rng);
            let (live, liveness) = (by_passes(&circuit), BitLiveness::new(&circuit));
            let mut bits = Bits::zero(BITS as usize);
            let (mut at, mut all) = (0, bits.clone());
            for _ in 0..200 {
                for bit in 0..BITS {
                    let expected = all.get(bit) && live[at].contains(&bit);
                    assert_eq!(bits.get(bit), expected, "bit {bit} at step {at} of {circuit:?}");
                    cleared += usize::from(all.get(bit) && !expected);
                }
                let Some(step) = circuit.steps.get(at) else { break };
                match step.action {
                    Action::While { end } if below(&mut rng, 2) == 0 => {
                        liveness.leave(at, &mut bits);
                        at = end;
                    }
                    Action::BackEdge { head } => at = head,
                    _ => {
                        for &bit in written(step) {
                            bits.set(bit, true);
                            all.set(bit, true);
                        }
                        liveness.pass(at, &mut bits);
                        at += 1;
                    }
                }
            }
        }
        assert!(cleared > 1000, "{cleared}");
    }
}
