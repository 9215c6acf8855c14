//! The frame: the affine map over GF(2) from places of the scratch to basis states.

use crate::{
    basis::odd,
    plan::layout::{Layout, Line, Parity},
};

/// The frame at the end of a stage.
pub(super) struct StageExit {
    /// The place of the first lane of each logical row.
    pub(super) rows: Vec<u32>,
    /// Vector that each logical lane adds to it.
    pub(super) lanes: Vec<usize>,
    /// (outer parity, flip, vector): added where the parity and the flip are not equal.
    pub(super) shifts: Vec<(usize, bool, usize)>,
}

/// Returns the frame of the tile's qubits when the stage is over.
pub(super) fn exit(lines: &[Line], lane_bits: usize) -> StageExit {
    let image = |y: usize| {
        lines
            .iter()
            .enumerate()
            .fold(0, |p, (i, line)| if y >> i & 1 == 1 { p ^ line.vector } else { p })
    };
    let rows = (0..1usize << (lines.len() - lane_bits))
        .map(|row| image(row << lane_bits) as u32)
        .collect();
    let lanes = (0..1usize << lane_bits).map(image).collect();
    let mut exit = StageExit { rows, lanes, shifts: Vec::with_capacity(lines.len()) };
    exit.shift(lines);
    exit
}

impl StageExit {
    /// Takes what is added, from lines that lead to the same vectors.
    pub(super) fn shift(&mut self, lines: &[Line]) {
        let moved = lines.iter().filter(|l| l.outer != 0 || l.flip);
        self.shifts.clear();
        self.shifts.extend(moved.map(|l| (l.outer, l.flip, l.vector)));
    }
}

/// The signs at the end of a stage.
#[derive(Default)]
pub(super) struct FrameSigns {
    /// Parity of places and of tiles.
    places: Parity,
    /// Signs in terms of the output: the parity of the logical index within the tile.
    pub(super) written: usize,
}

impl FrameSigns {
    pub(super) fn new(layout: &Layout) -> FrameSigns {
        let apart = layout.exit.iter().map(|line| odd(line.vector & layout.signs.inner));
        let written =
            apart.enumerate().fold(0, |mask, (i, negative)| mask | usize::from(negative) << i);
        FrameSigns { places: layout.signs, written }
    }

    /// Returns true if there are any signs.
    pub(super) fn any(&self) -> bool {
        self.places.inner | self.places.outer | self.written != 0
    }

    /// Returns true if the amplitude of logical index 0 is negated in the tile at index `outer`,
    /// where it is read from the place `shift`.
    pub(super) fn negates(&self, outer: usize, shift: usize) -> bool {
        odd(self.places.outer & outer) ^ odd(self.places.inner & shift)
    }
}
