//! Lowering of the places of a stage (`ketgrad_core::plan::layout`) to steps of the kernel `stage`.
//!
//! A step takes 2^rows places at once into registers, b + span of `rows` vectors. Whatever moves
//! amplitudes along vectors of that span alone can run there, one after the other, and so can all
//! phases: steps are stages once more, with a subspace in the place of a set of qubits. What
//! `kernels.cu` says of the words is written here.

use ketgrad_core::{
    basis::scatter_bits,
    plan::{
        BinaryAngle,
        layout::{Layout, Line, Obstacles, Parity, Placed, PlacedPhase, PlacedProbe},
    },
};

use crate::{
    bits::{Span, extract, ones},
    program::{KernelProgram, LaunchGeometry, MAX_GROUPS, MAX_LOOKS, STAGE_THREADS, Stage},
};

/// Number of words before the steps.
const HEADER: usize = 19;

/// Indices of the words of the header that other modules read.
pub(crate) mod header {
    pub(crate) const BITS: usize = 0;
    pub(crate) const STEPS: usize = 1;
    pub(crate) const FIRST_STEP: usize = 2;
    pub(crate) const GROUPS: usize = 3;
    pub(crate) const FIRST_GROUP: usize = 4;
    /// Number of runs; the next word is the index of the first.
    pub(crate) const TILE_RUNS: usize = 9;
    /// The same two words for the place.
    pub(crate) const PLACE_RUNS: usize = 11;
    pub(crate) const HIGH: usize = 13;
    pub(crate) const LOOKS: usize = 18;
}

/// Number of terms of one group of phases of the whole tile.
const CONSTANT_TERMS: usize = 32;

pub(crate) const PHASES: u32 = 0;
pub(crate) const TURN: u32 = 1;
pub(crate) const DENSE: u32 = 2;
pub(crate) const LOOK: u32 = 3;
pub(crate) const END: u32 = 4;
pub(crate) const MATRIX: u32 = 5;

/// Number of bits of a place that a matrix step acts on; other steps have more vectors.
const MATRIX_BITS: u32 = 2;

/// Returns the place of an amplitude in shared memory: an XOR swizzle against bank conflicts, as
/// `slot_of` in the kernels, linear over GF(2).
pub(crate) fn slot(place: usize, banks: usize) -> usize {
    if banks == 4 {
        return place ^ ((place >> 4 ^ place >> 8 ^ place >> 12) & 15);
    }
    let turned = place >> 3 ^ place >> 9;
    place ^ ((turned ^ turned << 1 ^ (turned >> 2 & 1) ^ place >> 6 ^ place >> 12) & 7)
}

/// Phases that read the same parity of the place: (outer parity, half the angle) each, with every
/// outer parity once.
struct PhaseGroup {
    inner: usize,
    terms: Vec<(usize, BinaryAngle)>,
}

/// Writer of a stage: the program that it extends, and the lists collected so far.
struct StageWriter<'a> {
    program: &'a mut KernelProgram,
    form: LaunchGeometry,
    /// Qubits in which its tiles differ.
    outside: usize,
    bits: usize,
    groups: Vec<PhaseGroup>,
    constants: Vec<(usize, BinaryAngle)>,
    overlap_probes: Vec<(usize, f64)>,
    /// Pivots of each step's span, and the index of its word for the table.
    tables: Vec<(usize, usize)>,
    /// Global phase.
    angle: BinaryAngle,
    /// Factor that the rotations written so far leave of a product of two amplitudes.
    shrinkage: f64,
}

/// Writes a stage into the program, with the phase `e^{i angle}` besides its own; `None`, and
/// nothing is written, if it has more phases or inner products than there is room for. It goes over
/// the tiles where the qubits outside of `live` are 0.
pub(crate) fn compile(
    program: &mut KernelProgram,
    layout: Layout,
    live: usize,
    form: LaunchGeometry,
    angle: BinaryAngle,
) -> Option<Stage> {
    let (words, numbers) = (program.words.len(), program.numbers.len());
    let stage = write(program, layout, live, form, angle);
    if stage.is_none() {
        program.words.truncate(words);
        program.numbers.truncate(numbers);
    }
    stage
}

fn write(
    program: &mut KernelProgram,
    layout: Layout,
    live: usize,
    form: LaunchGeometry,
    angle: BinaryAngle,
) -> Option<Stage> {
    let at = program.words.len();
    program.words.resize(at + HEADER, 0);
    let first_number = program.complex(std::iter::empty());
    let bits = layout.inside.len();
    let mut w = StageWriter {
        program,
        form,
        outside: layout.outside & live,
        bits,
        groups: Vec::new(),
        constants: Vec::new(),
        overlap_probes: Vec::new(),
        tables: Vec::new(),
        angle: angle + layout.angle,
        shrinkage: 1.0,
    };
    let several = layout.ops.len() > 1;
    let first_step = w.here();
    w.steps(layout.ops, layout.signs);
    let steps = w.tables.len() as u32;
    w.tables();
    let looks = std::mem::take(&mut w.overlap_probes);
    let constants = w.constant_groups();
    if several && (w.groups.len() > MAX_GROUPS || looks.len() > MAX_LOOKS) {
        return None;
    }
    let scale = w.angle.cis() * layout.scale;
    let (group, terms, factors) = w.groups();
    let groups = w.groups.len() as u32;
    let outside = runs(w.outside);
    let inside = runs(layout.inside.iter().fold(0, |mask, q| mask | 1 << q));
    let (outside_at, inside_at) = (w.runs(&outside), w.runs(&inside));
    let high = w.high_places(&layout.inside, &layout.exit);
    let exit = w.exit_slots(&layout.exit);
    let (shifts, shift_count) = w.shifts(&layout.exit);
    let scale = w.program.complex([scale].into_iter());
    let header = [
        bits as u32,
        steps,
        first_step,
        groups,
        group,
        terms,
        factors,
        constants.start as u32,
        constants.end as u32,
        outside.len() as u32,
        outside_at,
        inside.len() as u32,
        inside_at,
        high,
        exit,
        shift_count,
        shifts,
        scale,
        looks.len() as u32,
    ];
    w.program.words[at..at + HEADER].copy_from_slice(&header);
    let tiles = 1 << w.outside.count_ones();
    Some(Stage {
        at: at as u32,
        first_number,
        bits: bits as u32,
        tiles,
        groups,
        overlap_probes: looks,
    })
}

impl StageWriter<'_> {
    fn here(&self) -> u32 {
        self.program.words.len() as u32
    }

    /// Writes the steps of all operations, and of the places that are negated at the end.
    fn steps(&mut self, ops: Vec<Placed>, signs: Parity) {
        let mut rest = ops;
        if signs != Parity::default() {
            let Parity { inner, outer } = signs;
            rest.push(Placed::Phase(PlacedPhase { inner, outer, angle: BinaryAngle::HALF_TURN }));
        }
        while !rest.is_empty() {
            if self.form.matrices {
                rest = self.matrices(rest);
            }
            if !rest.is_empty() {
                rest = self.step(rest);
            }
        }
    }

    /// Writes a step for each matrix that can be first, and returns the rest.
    fn matrices(&mut self, ops: Vec<Placed>) -> Vec<Placed> {
        let (blocks, rest) = split(ops, |op| matches!(op, Placed::Dense { .. }));
        for op in blocks {
            let Placed::Dense { low, high, matrix } = op else { continue };
            let at = self.program.words.len();
            let vectors = std::iter::repeat_n(0, self.form.rows);
            self.program.words.extend([6 + self.form.rows as u32, 0].into_iter().chain(vectors));
            let slots = [low, high].map(|bit| slot(1 << bit, self.form.banks) as u32);
            let number = self.program.complex(matrix.iter().copied());
            self.program.words.extend([MATRIX, slots[0], slots[1], number]);
            self.tables.push((1 << low | 1 << high, at + 1));
        }
        rest
    }

    /// Writes a step for as many operations as fit one, and returns the rest.
    fn step(&mut self, ops: Vec<Placed>) -> Vec<Placed> {
        let (mut span, taken, rest) = self.choose(ops);
        // Vectors that nothing moves along fill the registers.
        for bit in (0..self.bits).rev() {
            span.admit(1 << bit, self.form.rows);
        }
        let at = self.program.words.len();
        self.program.words.extend([0, 0]);
        for (vector, _) in span.vectors() {
            self.program.words.push(slot(vector, self.form.banks) as u32);
        }
        self.actions(taken, &span);
        self.program.words[at] = (self.program.words.len() - at) as u32;
        self.tables.push((span.pivots(), at + 1));
        rest
    }

    /// Writes the tables of first places, once for all steps with the same pivots.
    fn tables(&mut self) {
        let mut written: Vec<(usize, u32)> = Vec::new();
        for (pivots, word) in std::mem::take(&mut self.tables) {
            let known = written.iter().find(|t| t.0 == pivots).map(|t| t.1);
            let at = known.unwrap_or_else(|| {
                let at = self.here();
                let shared = pivots.count_ones() == MATRIX_BITS;
                self.program.words.extend(starts(pivots, self.bits, self.form.banks, shared));
                written.push((pivots, at));
                at
            });
            self.program.words[word] = at;
        }
    }

    /// Chooses the operations of one step: its span, those operations, and the ones left for later.
    fn choose(&self, ops: Vec<Placed>) -> (Span, Vec<Placed>, Vec<Placed>) {
        let mut span = Span::default();
        let (mut taken, mut rest): (Vec<Placed>, Vec<Placed>) = (Vec::new(), Vec::new());
        let mut left = Obstacles::new(false);
        for op in ops {
            if !left.conflicts(&op) && self.admit(&mut span, &op) {
                taken.push(op);
            } else {
                left.add(&op);
                rest.push(op);
            }
        }
        (span, taken, rest)
    }

    fn admit(&self, span: &mut Span, op: &Placed) -> bool {
        let most = self.form.rows;
        match op {
            Placed::Phase(_) => true,
            Placed::Dense { .. } if self.form.matrices => false,
            Placed::Rotation { line, .. } => span.admit(line.vector, most),
            Placed::Probe(look) => span.admit(look.x, most),
            Placed::Dense { low, high, .. } => {
                let mut both = span.clone();
                let fits = both.admit(1 << low, most) && both.admit(1 << high, most);
                if fits {
                    *span = both;
                }
                fits
            }
        }
    }

    /// Writes the actions of a step; phases that can be brought together become one.
    fn actions(&mut self, mut ops: Vec<Placed>, span: &Span) {
        while !ops.is_empty() {
            let (phases, rest) = split(ops, |op| matches!(op, Placed::Phase(_)));
            self.phases(&phases, span);
            let (others, rest) = split(rest, |op| !matches!(op, Placed::Phase(_)));
            for op in others {
                self.action(&op, span);
            }
            ops = rest;
        }
        self.program.words.push(END);
    }

    fn action(&mut self, op: &Placed, span: &Span) {
        match op {
            Placed::Phase(_) => {}
            Placed::Rotation { line, tan } => {
                self.shrinkage *= op.shrinkage();
                let number = self.program.numbers.len();
                self.program.numbers.push(if line.flip { -tan } else { *tan });
                self.program.words.extend([
                    TURN,
                    span.coordinates(line.vector) as u32,
                    span.pattern(line.inner) as u32,
                    line.inner as u32,
                    extract(line.outer, self.outside) as u32,
                    number as u32,
                ]);
            }
            Placed::Dense { low, high, matrix } => {
                let local = |bit: usize| span.coordinates(1 << bit).trailing_zeros() as usize;
                let (a, b) = (local(*low), local(*high));
                let number = match a < b {
                    true => self.program.complex(matrix.iter().copied()),
                    false => self.program.complex((0..16).map(|i| matrix[exchanged(i)])),
                };
                self.program.words.extend([DENSE, (a.min(b) + 4 * a.max(b)) as u32, number]);
            }
            Placed::Probe(look) => self.overlap_probe(look, span),
        }
    }

    fn overlap_probe(&mut self, look: &PlacedProbe, span: &Span) {
        self.program.words.extend([
            LOOK,
            span.coordinates(look.x) as u32,
            span.pattern(look.z) as u32,
            look.z as u32,
            extract(look.outer, self.outside) as u32,
            u32::from(look.real),
            self.overlap_probes.len() as u32,
        ]);
        self.overlap_probes.push((look.number, look.weight * self.shrinkage));
    }

    /// `e^{i a [odd]} = e^{i a/2} e^{-i a/2 (-1)^{parity}}`: the first factor belongs to the whole,
    /// the second is conjugated where the parity is odd.
    fn phases(&mut self, phases: &[Placed], span: &Span) {
        let first = self.groups.len();
        for op in phases {
            let Placed::Phase(PlacedPhase { inner, outer, angle }) = *op else { continue };
            if inner == 0 && outer == 0 {
                continue;
            }
            let half = angle.half();
            self.angle += half;
            let outer = extract(outer, self.outside);
            if inner == 0 {
                add(&mut self.constants, outer, half);
                continue;
            }
            match self.groups[first..].iter_mut().find(|g| g.inner == inner) {
                Some(group) => add(&mut group.terms, outer, half),
                None => self.groups.push(PhaseGroup { inner, terms: vec![(outer, half)] }),
            }
        }
        if self.groups.len() == first {
            return;
        }
        self.groups[first..].sort_by_key(|g| span.pattern(g.inner));
        let mut patterns: Vec<(usize, usize, usize)> = Vec::new();
        for (number, group) in self.groups.iter().enumerate().skip(first) {
            let pattern = span.pattern(group.inner);
            match patterns.last_mut() {
                Some(last) if last.0 == pattern => last.2 = number + 1,
                _ => patterns.push((pattern, number, number + 1)),
            }
        }
        let still = patterns.first().filter(|p| p.0 == 0).copied();
        let (start, end) = still.map_or((0, 0), |p| (p.1, p.2));
        let moving = &patterns[usize::from(still.is_some())..];
        let words = &mut self.program.words;
        words.extend([PHASES, start as u32, end as u32, moving.len() as u32]);
        words.extend(moving.iter().flat_map(|p| [p.0 as u32, p.1 as u32, p.2 as u32]));
    }

    /// Writes the phases of the whole tile as groups of their own.
    fn constant_groups(&mut self) -> std::ops::Range<usize> {
        let first = self.groups.len();
        let constants = std::mem::take(&mut self.constants);
        for terms in constants.chunks(CONSTANT_TERMS) {
            self.groups.push(PhaseGroup { inner: 0, terms: terms.to_vec() });
        }
        first..self.groups.len()
    }

    /// Writes the groups: the indices of the groups, their terms, and the factors.
    fn groups(&mut self) -> (u32, u32, u32) {
        let group = self.here();
        let mut count = 0;
        for g in &self.groups {
            let end = count + g.terms.len() as u32;
            self.program.words.extend([g.inner as u32, count, end]);
            count = end;
        }
        let terms = self.here();
        let all = || self.groups.iter().flat_map(|g| &g.terms);
        self.program.words.extend(all().map(|(outer, _)| *outer as u32));
        let factors = self.program.complex(all().map(|(_, half)| (-*half).cis()));
        (group, terms, factors)
    }

    fn runs(&mut self, runs: &[[usize; 3]]) -> u32 {
        let at = self.here();
        self.program.words.extend(runs.iter().flatten().map(|x| *x as u32));
        at
    }

    /// Writes the index of each place k `STAGE_THREADS`, its slot, and what it adds to the slot at
    /// the end, and returns the index of the first word.
    fn high_places(&mut self, inside: &[usize], exit: &[Line]) -> u32 {
        let (high, banks) = (self.here(), self.form.banks);
        for place in (0..1usize << self.bits).step_by(STAGE_THREADS) {
            self.program.long(scatter_bits(place, inside) as u64);
            let left = ones(place).fold(0, |s, bit| s ^ slot(exit[bit].vector, banks));
            self.program.words.extend([slot(place, banks) as u32, left as u32]);
        }
        high
    }

    /// Writes the slots of the vectors of the logical qubits at the end, and returns the index of
    /// the first.
    fn exit_slots(&mut self, exit: &[Line]) -> u32 {
        let at = self.here();
        for line in exit {
            self.program.words.push(slot(line.vector, self.form.banks) as u32);
        }
        at
    }

    /// Writes the shifts of the slots at the end, and returns the index of the first word and
    /// their number.
    fn shifts(&mut self, exit: &[Line]) -> (u32, u32) {
        let shifts = self.here();
        let mut shift_count = 0;
        for line in exit.iter().filter(|l| l.outer != 0 || l.flip) {
            let (outer, by) = (
                extract(line.outer, self.outside) as u32,
                slot(line.vector, self.form.banks) as u32,
            );
            self.program.words.extend([outer, u32::from(line.flip), by]);
            shift_count += 1;
        }
        (shifts, shift_count)
    }
}

/// Adds half an angle to that of its outer parity.
fn add(terms: &mut Vec<(usize, BinaryAngle)>, outer: usize, half: BinaryAngle) {
    match terms.iter_mut().find(|term| term.0 == outer) {
        Some(term) => term.1 += half,
        None => terms.push((outer, half)),
    }
}

/// Moves the operations that can be first out of a list: all that `wanted` accepts and that
/// conflict with none that stays.
fn split(ops: Vec<Placed>, wanted: impl Fn(&Placed) -> bool) -> (Vec<Placed>, Vec<Placed>) {
    let (mut first, mut rest): (Vec<Placed>, Vec<Placed>) = (Vec::new(), Vec::new());
    let mut left = Obstacles::new(false);
    for op in ops {
        if wanted(&op) && !left.conflicts(&op) {
            first.push(op);
        } else {
            left.add(&op);
            rest.push(op);
        }
    }
    (first, rest)
}

/// Entry i of a 4x4 matrix whose two bits are exchanged.
fn exchanged(i: usize) -> usize {
    let bits = |x: usize| x >> 1 | (x & 1) << 1;
    4 * bits(i >> 2) + bits(i & 3)
}

/// Returns the bits of a mask as runs: (number of the first bit, length, position of the first).
fn runs(mask: usize) -> Vec<[usize; 3]> {
    let mut runs: Vec<[usize; 3]> = Vec::new();
    for (number, bit) in ones(mask).enumerate() {
        match runs.last_mut() {
            Some([_, width, to]) if *to + *width == bit => *width += 1,
            _ => runs.push([number, 1, bit]),
        }
    }
    runs
}

/// Returns the places whose pivots are 0, with their slots in the upper half. Neighbours, which
/// threads of a warp take together, differ in bits that lead to different banks; `shared` if
/// threads next to each other share a set of places, so that the pivots lead to banks as well.
fn starts(pivots: usize, bits: usize, banks: usize, shared: bool) -> impl Iterator<Item = u32> {
    let bank = |bit: usize| slot(1 << bit, banks) & ((1 << banks) - 1);
    let mut reached = Span::default();
    if shared {
        ones(pivots).for_each(|bit| _ = reached.admit(bank(bit), banks));
    }
    let mut free: Vec<usize> = ones(((1 << bits) - 1) & !pivots).collect();
    let mut order = Vec::new();
    while reached.dimensions() < banks {
        let new = |bit: &usize| {
            let dimensions = reached.dimensions();
            let mut with = reached.clone();
            with.admit(bank(*bit), banks);
            with.dimensions() > dimensions
        };
        let Some(k) = free.iter().position(new) else { break };
        reached.admit(bank(free[k]), banks);
        order.push(free.remove(k));
    }
    order.append(&mut free);
    (0..1usize << order.len()).map(move |number| {
        let place = scatter_bits(number, &order);
        (place | slot(place, banks) << 16) as u32
    })
}
