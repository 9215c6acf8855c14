//! The programs that both front ends read: the macro as code, the text parser as text
//! (`program_corpus.rs`).
use ketgrad::program;

program! {
    struct Point { x, y }
    struct Segment { from: Point, to: Point, weight }
    struct Sample { n: int, t, xs: array }

    fn quotient(a, b) { a / (1.0 + b * b) }
    fn distance(p: Point, q: Point) {
        let dx = p.x - q.x;
        let dy = p.y - q.y;
        sqrt(dx * dx + dy * dy)
    }
    fn power(x, n: int) -> real {
        let mut p = 1.0;
        for i in 0..n { p *= x; }
        p
    }
    fn newton(a) {
        let mut x = a;
        for i in 0..50 {
            let y = 0.5 * (x + a / x);
            let d = y - x;
            x = y;
            if d * d < 1e-24 { break }
        }
        x
    }
    rule softplus(x) { ln(1.0 + exp(x)) }
    pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }
    fn smooth(x, k) { softplus(k * x) / k }
    fn clamp(x, lo, hi) {
        let y = if x < lo && !(hi < lo) {
            lo
        } else if x > hi || x == 7.0 {
            hi * 1.0
        } else {
            x + 2.0 * x - x * 2.0
        };
        return y * y;
    }
    fn relu(x) { if x > 0.0 { x } else { 0.0 } }
    fn factorial(x) {
        if x <= 1.0 { return 1.0; }
        x * factorial(x - 1.0)
    }
    fn even(n: int, x) { if n == 0 { x } else { odd(n - 1, 2 * x) } }
    fn odd(n: int, x) { if n == 0 { -x } else { even(n - 1, x + 1) } }
    fn polynomial(w: array, x) {
        let mut sum = 0.0;
        let mut p = 1.0;
        for k in 0..len(w) {
            sum += w[k] * p;
            p *= x;
        }
        sum
    }
    fn scaled(xs: array, k) -> array {
        let mut ys = xs;
        for i in 0..ys.len() {
            ys[i] *= k;
            if i % 2 == 1 { continue }
            ys[i] = ys[i] + real(i);
        }
        ys
    }
    fn magnitude(xs: array) { sqrt(sum(scaled(xs, 2.0)) + xs[0] * xs[0]) }
    fn longer(s: Segment) -> Segment {
        let mut t = s;
        t.weight += distance(s.from, s.to);
        t.to.x = t.to.x * 2.0;
        t.from = Point { x: 0, y: s.to.y };
        t
    }
    fn length(s: Segment) { let t = longer(s); t.weight * distance(t.from, t.to) }
    fn sample(s: Sample, k: int) {
        let mut t = s;
        t.n += k;
        t.xs[1] = t.t + real(t.n);
        t.xs[0] -= 0.5;
        t.xs[0] * t.xs[1] + real(t.n - t.xs.len())
    }
    fn both(a, b) -> (real, real) {
        let (p, q) = (a + b, a * b);
        let t = (p, (q, 1.0));
        (t.0 * (t.1).1, sin(p).cos())
    }
    fn third(a, b) { let t = both(a, b); let (mut u, v) = t; u += t.1; u * v }
    fn rotate(z: complex, angle) -> complex { z * complex(cos(angle), sin(angle)) + 1 }
    fn distances(z: complex, w: complex) { abs2(z - w) + re(z * conj(w)) + z.im() * abs(w) }
    fn julia(z: complex, n: int) -> complex {
        let mut w = z;
        for i in 0..n { w = w * w + complex(0.1, 0.2); }
        w
    }
    fn phases(n: int) -> array<complex> {
        let mut zs = [complex(0.0, 0.0); n];
        for i in 0..n { zs[i] = exp(complex(0.0, real(i))) }
        zs
    }
    fn total(n: int) -> complex { let zs = phases(n); sum(zs) + zs[0] }
    fn collatz(n: int) -> int {
        let mut m = n;
        let mut steps = 0;
        while m != 1 {
            if m % 2 == 0 { m = m / 2; } else { m = 3 * m + 1; }
            steps += 1;
        }
        steps
    }
    fn forever(x) {
        let mut y = x;
        while true {
            y = y * 0.5;
            if y < 1.0 { return y; }
        }
        0.0
    }
    fn nested(x, n: int) {
        let mut s = 0.0;
        for i in 0..n {
            for j in 0..=i {
                if j == 2 { s += sin(x * real(j)); continue; }
                s = s * x + 1.0;
            }
        }
        s
    }
    fn shadow(x) { let x = x * x; let x = x + x; { let x = 3.0 * x; let y = x; } x }
    fn choose(c: bool, a, b) { let d = if c { !c } else { true }; select(d, a, b) + min(a, b) * max(a, 0.5) }
    fn typed(n: int) -> real { let x: real = 2; let mut z: complex = 1; z = z * x; z.re() + real(n) }
    fn table(x) {
        abs(x) + floor(x) + hypot(x, 2.0) + atan2(x, 3) + pow(x, 2.5) + powi(x, 3) + x.powi(-2) + exp_m1(x)
            + ln_1p(x) + cbrt(x) + tanh(x) + x.max(0.3).min(1.0) + rem(x, 0.7) + log(x) + recip(x) + round(x)
    }
    // A pair of ints.
    struct Pair { a: int, b: int }
    fn swap(p: Pair) -> Pair { Pair { a: p.b, b: p.a } }
    fn positive(x) -> bool { if x > 0.0 { true } else { false } }
    fn sided(x) { if positive(x) && !positive(-x) { x } else { -x } }
    fn assembled(x) { let xs = [x, 1.0, x * x]; let mut ys = [0.0, x]; ys[1] += xs[2]; xs[0] + ys[1] + sum(xs) / real(len(xs)) }
    fn counted(x, n: int) -> (real, int) { return (x, n); }
    fn countdown(x) { let (y, k) = counted(x, 3); let mut m = k; m += 1; m -= 2; m *= 3; m /= 2; powi(y, m) }
    fn stepped(x) { let mut y = 0.0; y = if x > 1.0 { x } else if x > 0.5 { 2.0 * x } else { 3.0 }; y }
    fn turned(z: complex) -> complex { let mut w = z; w += 1.0; w *= z; w = 2 * w / z - 1.0 / z; w.exp() }
    fn mixed(x) { let z = complex(x, 1); let w: complex = x; abs(z * w) + arg(z) }
    fn squares(n: int) -> array { let mut xs = [0.0; n]; let mut i = 0; while i < n && i < 10 { xs[i] = real(i * i); i += 1; } xs }
    fn picked(n: int) { let xs = squares(n); let ys = xs; xs[0] + ys[n - 1] + xs[1] }
    fn triangle(x: real) -> real { let mut s = 0.0; for i in 0..3 { for j in i..=3 { if i == j || j > 2 && i != 1 { s += x; } else { break; } } } s }
    fn looked_up(xs: array<complex>, ns: array<int>) -> complex { xs[ns[0]] * real(ns[1]) }
    fn branches(x) { if x > 0.0 { if x > 1.0 { return 1.0; } x * x } else { let y = -x; y + 1.0 } }
    fn deep(x) { let t = (x, (x * 2.0, 3)); let mut u = t.1; u.0 += 1.0; u.0 * t.0 + real(u.1) }
    fn block(x) { let y = { let t = x * x; t + 1.0 }; y * y }
    fn copied(x) { let y = { let mut t = x; t += 1.0; let x = 2.0; t * x }; x * y }
    fn flagged(x, c: bool) { let mut k = 0; if c { k = 1; } if k == 1 { x } else { 2.0 } }
    fn changed(a: array) -> array { let mut b = a; b[0] = 1; b[1] *= 2; b }
    fn promoted(x) -> complex { if x > 0.0 { complex(x, 1.0) } else { x } }
    fn selected(x) { let d = if x > 1.0 { true } else { false }; select(d, x, 0) + max(x, 1) }

    // Arrays as wholes.
    fn layer(x: array, w: array, b: array) -> array { tanh(matmul(x, w) + b) }
    fn squared(x: array, w: array, b: array) { let r = layer(x, w, b) - [0.5, 0.25]; mean(r * r) }
    fn arithmetic(a: array, b: array, k) -> array {
        let mut c = 2 * a - b / (1.0 + b * b);
        c += k * a;
        c *= b;
        c -= 1;
        [0.5, 0.25] * -c / k
    }
    fn each(a: array, b: array) -> array {
        let y = sin(a) * a.cos() + exp(-a) + max(a, 0.5) - min(a, b) + pow(abs(a) + 1.0, 1.5) + powi(a, 3);
        y + hypot(a, 2.0) + atan2(b, a) + a.floor() + sqrt(abs2(b)) + a.max(b) - log(hypot(a, b) + 1) + masked(step(a, b), a, b * b)
    }
    fn shaped(a: array) -> array {
        let t = transpose(a);
        let flat = reshape(t, [-1]);
        let wide = reshape(flat, [2, 3]);
        let both = concat(wide, 2.0 * a, 0);
        let one = drop_axis(insert_axis(permute(both, [1, 0]), 0), 0);
        gather(slice(one, 1, 1, 2), [2, 0]) + row(a, 1).sum() + dynamic_update_slice(a, wide, 0, 0).with_row(row(a, 0), 1).sum()
    }
    fn triangles(m: array) { sum(tril(m, 0) * 2.0 - m.triu(-1)) + sum(diagonal(m) * diagonal(diagonal_matrix(diagonal(m)))) }
    fn reduced(a: array) {
        let s = sum(a) + mean(a) + prod(a) + norm(a) + maximum(a) + minimum(a) + logsumexp(a) + real(argmax(a) - argmin(a));
        s + sum(sum_axis(a, 0) * mean_axis(a, 0)) + sum(softmax(a, 1) * cumsum(a, 0)) + sum(logsumexp_axis(a, 1))
    }
    fn sorted(v: array) -> array { sort(v) + gather(v, argsort(v)) * reverse_cumsum(v, 0) + exclusive_prod(v) }
    fn multiplied(a: array, b: array) -> array {
        let c = einsum(a, b, [0, 1], [2, 1], [0, 2]);
        let d = matmul_nh(a, b) + contract(a, b, [0, 1, 2, 1, 0, 2]);
        c * d + dot(a, b) + trace(c) + trace_product(a, transpose(b)) + sum(kron(a, b)) + sum(outer(row(a, 0), row(b, 1)))
    }
    fn linear(m: array, v: array) {
        let spd = matmul(m, transpose(m)) + eye(2);
        let x = solve(spd, v) + matvec(inv(spd), v);
        let l = cholesky(spd);
        sum(x) + det(m) + logabsdet(spd) + sum(l) + sum(expm(m / 4.0)) + sum(eigvalsh(spd)) + dot(matvec(spd, x), v)
    }
    fn orthogonal(m: array, b: array) {
        let x = lstsq(m, b);
        let near = matmul_nh(svd_u(m), svd_v(m));
        dot(x, x) + sum(qr_q(m) * m) + sum(qr_r(m)) + sum(svdvals(m) * x) + sum(qr(m)) + sum(near * svd(m)[2])
            + sum(pinv(m)) + signdet(m) * sum(expm_along(m, m)) + sum(solve_lower(m, b)) + sum(solve_upper(m, b))
    }
    fn signals(a: array, b: array) { sum(convolve(a, b) * 2.0) + sum(correlate(a, b)) }
    fn waves(z: array<complex>, x: array) -> array<complex> {
        let y = fft(z * x) + ifft(z) - conj(z) / complex(0.0, 2.0);
        y * exp(complex(x, 0.5)) + fft(x)
    }
    fn moduli(z: array<complex>) { sum(abs(z)) + sum(re(z) * z.im()) + sum(arg(z)) + norm(z) + sum(abs2(z)) }
    fn placed(m: array, i: int) {
        let mut c = m;
        c[(0, i)] = 2.0;
        c[(i, 0)] += c[(0, 0)] * m[(1, 1)];
        c[(0, 1)] * c[(1, 0)] + m[3] + real(c.len() + dim(&c, 0) + shape(&c)[1])
    }
    fn written(x) -> array { let m = [[x, 1.0], [0.0, x * x]]; matmul(m, m) + [[1.0, 2.0], [3.0, 4.0]] }
    fn rows(a: array, x, n: int) -> array {
        let mut m = [[0.0; 2]; n];
        m[1] = x;
        let all = [a; n];
        let twos = [[2.0; 2]; n];
        m += all * twos;
        m
    }
    fn stacked(a: array, b: array) -> array { [a, b] }
    fn dominant(m: array, n: int) {
        let mut v = full(1.0, [2]);
        for i in 0..n {
            let w = matvec(m, &v);
            v = w / norm(w);
        }
        dot(&v, matvec(m, &v))
    }
    fn filtered(a: array, n: int) -> array {
        let mut b = a;
        let lengths = [n, 3];
        b += full(0.25, lengths) + broadcast_to(2.0, a);
        if sum(&b) > 0.0 { b = b * step(a, 0.0) }
        let hot = if n > 2 { true } else { false };
        select(hot, b, a)
    }
    fn either(a: array, hot: bool) -> array { if hot { a } else { [1, -2] } }
    fn whole(a: array, z: array<complex>) -> array {
        let b = concat([5, 6], a, 0) * dot([1, 2], a);
        let c = matvec([[1, 0], [0, 2]], a) + re(z * [1, 2]) + [3, 4] * a;
        outer([1, 2], c) - broadcast_to(b[3], c)
    }
    fn counts(ns: array<int>, a: array) -> array { real(ns) * a + real(count([2, 2]) + ravel_multi_index(a, [1])) }
}
