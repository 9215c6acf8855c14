/// The block of a counter under a key: Threefry 2x32 with 20 rounds.
fn fold_in(key: i64, counter: i64) -> i64 {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let words = |n: i64| [((n as u64) >> 32) as u32, n as u32];
    let ([a, b], [mut x, mut y]) = (words(key), words(counter));
    let keys = [a, b, a ^ b ^ 0x1BD1_1BDA];
    x = x.wrapping_add(keys[0]);
    y = y.wrapping_add(keys[1]);
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        let next = group + 1;
        x = x.wrapping_add(keys[next % 3]);
        y = y.wrapping_add(keys[(next + 1) % 3]).wrapping_add(next as u32);
    }
    ((u64::from(x) << 32) | u64::from(y)) as i64
}
