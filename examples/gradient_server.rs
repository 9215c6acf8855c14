//! Gradients over TCP: an asynchronous server whose eight threads compute, and stop when a client
//! hangs up or a job takes too long.
//!
//! A line asks, a line answers; `serve` is the server, `main` a few clients that try it.
//!
//! ```text
//! energy x0 x1 ...            ->  the energy of an Ising ring at these angles, and its gradient
//! pendulum x0 friction steps  ->  position of a pendulum after a number of steps, and its derivatives by x0 and friction
//! ```
//!
//! ```text
//! cargo run --release -p ketgrad-examples --example gradient_server
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ketgrad::{
    Simulator,
    ansatz::hardware_efficient,
    cancel::{CancellationToken, is_cancelled},
    exec::{Datum, Derivatives},
    hybrid::Expectation,
    problem,
    text::parse_program,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::spawn_blocking,
    time::{sleep, timeout},
};

type Fault = Box<dyn Error + Send + Sync>;

const THREADS: usize = 8;
const LONGEST: Duration = Duration::from_secs(20);

const PENDULUM: &str = "
    fn place(x0, friction, steps: int) {
        let mut x = x0;
        let mut v = 0.0;
        for i in 0..steps {
            x += 0.001 * v;
            v -= 0.001 * (sin(x) + friction * v);
        }
        x
    }";

/// State that all connections share: a job takes a copy, which costs no compilation.
struct Service {
    energy: Expectation,
    pendulum: Derivatives<'static, f64>,
    cancelled: AtomicUsize,
}

impl Service {
    fn new() -> Result<Service, Fault> {
        let n = 8;
        let circuit = hardware_efficient(n, 2)?;
        let energy = Expectation::new(circuit, [problem::ising(n, 1.0, 0.8, true)?])?;
        let mut pendulum = Derivatives::new(&parse_program(PENDULUM)?, "place")?;
        pendulum.gradient(&[Datum::Real(1.0), Datum::Real(0.1), Datum::Int(1)])?; // compiled here
        Ok(Service { energy, pendulum, cancelled: AtomicUsize::new(0) })
    }

    /// The answer to a line, computed here and now.
    fn answer(&self, line: &str, token: CancellationToken) -> Result<String, Fault> {
        let mut words = line.split_whitespace();
        let job = words.next().unwrap_or_default();
        let numbers = words.map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let (value, gradient) = match (job, numbers.as_slice()) {
            ("energy", x) => {
                let simulator = Simulator::new().with_cancellation(token);
                self.energy.clone().with_simulator(simulator).value_and_gradient(x)?
            }
            ("pendulum", [x0, friction, steps]) => {
                let at = [Datum::Real(*x0), Datum::Real(*friction), Datum::Int(*steps as i64)];
                let mut place = self.pendulum.clone().with_cancellation(token);
                let (value, gradient) = place.value_and_gradient(&at)?;
                (value, gradient.iter().filter_map(|g| g.real().copied()).collect())
            }
            _ => {
                return Err(format!(
                    "no job `{line}`: energy x0 x1 ..., or pendulum x0 friction steps"
                )
                .into());
            }
        };
        Ok(gradient.iter().fold(format!("{value:.6}"), |text, g| format!("{text} {g:.6}")))
    }
}

/// Serves all that connect.
async fn serve(listener: TcpListener, service: Arc<Service>) -> Result<(), Fault> {
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move { talk(stream, &service).await });
    }
}

/// Answers the lines of one client until it hangs up.
async fn talk(stream: TcpStream, service: &Arc<Service>) -> Result<(), Fault> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await? {
        let token = CancellationToken::new();
        let mut job = spawn_blocking({
            let (service, token) = (service.clone(), token.clone());
            move || service.answer(&line, token)
        });
        let answer = tokio::select! {
            answer = &mut job => answer?,
            // The client hangs up, or asks for something else meanwhile.
            _ = lines.next_line() => {
                token.cancel();
                job.await?
            }
            () = sleep(LONGEST) => {
                token.cancel();
                job.await?
            }
        };
        if let Err(error) = &answer
            && is_cancelled(&**error)
        {
            service.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        let text = answer.unwrap_or_else(|error| format!("error: {error}"));
        writer.write_all(format!("{text}\n").as_bytes()).await?;
    }
    Ok(())
}

/// A client with one question.
async fn ask(address: std::net::SocketAddr, line: String) -> Result<String, Fault> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    stream.write_all(format!("{line}\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    Ok(answer.trim_end().to_owned())
}

async fn clients() -> Result<(), Fault> {
    let service = Arc::new(Service::new()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, service.clone()));

    // Many at once; each gets what it gets alone.
    let energy = |k: usize| {
        let x = (0..service.energy.n_inputs()).map(|j| format!(" {}", 0.1 * (j + k) as f64));
        format!("energy{}", x.collect::<String>())
    };
    let questions: Vec<String> = (0..32)
        .map(|k| if k % 2 == 0 { energy(k) } else { format!("pendulum 1 0.{k} 2000") })
        .collect();
    let asked: Vec<_> = questions.iter().map(|q| tokio::spawn(ask(address, q.clone()))).collect();
    let mut same = 0;
    for (question, answer) in questions.iter().zip(asked) {
        let alone = service.answer(question, CancellationToken::never())?;
        same += usize::from(answer.await?? == alone);
    }
    println!("{same} of {} answers are those of a call", questions.len());
    println!("pendulum 1 0.1 2000 -> {}", ask(address, "pendulum 1 0.1 2000".into()).await?);
    println!("pendulum 1 -> {}", ask(address, "pendulum 1".into()).await?);

    // Jobs that would take minutes: their clients hang up, and the threads are free again.
    for _ in 0..THREADS {
        let hasty = ask(address, "pendulum 1 0.1 300000000".into());
        assert!(timeout(Duration::from_millis(20), hasty).await.is_err());
    }
    while service.cancelled.load(Ordering::Relaxed) < THREADS {
        sleep(Duration::from_millis(1)).await;
    }
    println!("{} jobs stopped", service.cancelled.load(Ordering::Relaxed));
    println!("{}", ask(address, energy(0)).await?.split(' ').next().unwrap_or_default());
    Ok(())
}

fn main() -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2) // they wait; the blocking threads compute
        .max_blocking_threads(THREADS)
        .enable_all()
        .build()?;
    runtime.block_on(clients())
}
