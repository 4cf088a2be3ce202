//! Without faults the simulated disk behaves as the system's: the same random programs of calls on
//! both have the same results.

use simdisk::{Random, SimDisk};
use sos::sys::OsDisk;

use crate::program::{Machine, Outcome, step};

const PROGRAMS: u64 = 60;
const STEPS: usize = 300;

#[test]
fn programs_have_the_same_results_on_the_disk_of_the_system() {
    let mut done = 0;
    let mut failed = 0;
    for seed in 0..PROGRAMS {
        let folder = std::env::temp_dir().join(format!("simdisk-{}-{seed}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let system = OsDisk::open(folder.to_str().unwrap()).unwrap();
        let simulated = SimDisk::new(seed);
        let mut random = Random::new(seed);
        let mut on_system = Machine::new(&system);
        let mut on_simulated = Machine::new(&simulated);
        for number in 0..STEPS {
            let step = step(&mut random);
            let expected = on_system.run(&step);
            let found = on_simulated.run(&step);
            let trace = || simulated.trace().join("\n");
            assert_eq!(found, expected, "seed {seed} step {number}: {step:?}\n{}", trace());
            match found {
                Some(Outcome::Failed(_)) => failed += 1,
                Some(_) => done += 1,
                None => (),
            }
        }
        drop(on_system);
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert!(done > 5000 && failed > 2000, "programs reach little: {done} done, {failed} failed");
}
