//! The table of system calls: number, name, number of arguments, which of them are addresses of text, handler.
//!
//! The numbers are those of RISC-V 64, which are Linux's generic ones. A row without a handler
//! only gives the call's name; such calls fail with `ENOSYS`, as do all that are not here.

use rustix::io::Errno;

use crate::call::{Call, Outcome};
use crate::{
    attributes, descriptors, directories, epoll, files, identity, io, locks, memfd, memory, messages, metadata, pidfd,
    poll, prctl, process, processors, program_timers, random, signalfd, signals, socket_calls, socket_options, status,
    threads, time, timer, timerfd,
};

type Handler = fn(&mut Call<'_>) -> Outcome;

struct Row {
    name: &'static str,
    arity: usize,
    texts: &'static [usize],
    handler: Option<Handler>,
}

/// The calls that make threads.
pub(crate) const CLONE: u64 = 220;
pub(crate) const CLONE3: u64 = 435;
/// One more than the highest number.
const NUMBERS: usize = 453;

macro_rules! table {
    ($($number:literal $name:ident $(($arity:literal $(, text $($text:literal)*)?) => $handler:path)?;)*) => {
        static TABLE: [Option<Row>; NUMBERS] = {
            let mut table = [const { None }; NUMBERS];
            $(table[$number] = Some(table!(@row $name $($arity [$($($text)*)?] $handler)?));)*
            table
        };
    };
    (@row $name:ident $arity:literal [$($text:literal)*] $handler:path) => {
        Row { name: stringify!($name), arity: $arity, texts: &[$($text),*], handler: Some($handler) }
    };
    (@row $name:ident) => {
        Row { name: stringify!($name), arity: 6, texts: &[], handler: None }
    };
}

fn row(number: u64) -> Option<&'static Row> {
    TABLE.get(usize::try_from(number).ok()?)?.as_ref()
}

pub(crate) fn name(number: u64) -> Option<&'static str> {
    Some(row(number)?.name)
}

/// How many arguments the call takes.
pub(crate) fn arity(number: u64) -> usize {
    row(number).map_or(6, |row| row.arity)
}

/// Whether its argument `n` is the address of a path, or of a name.
pub(crate) fn is_text(number: u64, n: usize) -> bool {
    row(number).is_some_and(|row| row.texts.contains(&n))
}

pub(crate) fn is_provided(number: u64) -> bool {
    row(number).is_some_and(|row| row.handler.is_some())
}

/// Whether a call changes nothing outside the guest's own memory and signals but what standard error says.
pub(crate) fn is_quiet(number: u64, first_arg: u64) -> bool {
    match row(number).map(|row| row.name) {
        Some("write" | "writev") => first_arg as i32 == io::STANDARD_ERROR,
        Some(
            "brk" | "mmap" | "munmap" | "mremap" | "mprotect" | "madvise" | "futex" | "getpid" | "gettid" | "kill"
            | "tkill" | "tgkill" | "rt_sigaction" | "rt_sigprocmask" | "rt_sigreturn",
        ) => true,
        _ => false,
    }
}

/// Whether a call may change what another thread waits for in a file.
pub(crate) fn changes_files(number: u64) -> bool {
    match row(number).map(|row| row.name) {
        Some(name) => [
            "openat",
            "read",
            "write",
            "close",
            "dup",
            "splice",
            "sendfile",
            "fcntl",
            "flock",
            "ioctl",
            "epoll_ctl",
            "timerfd",
            "signalfd",
            "send",
            "recv",
            "shutdown",
            "connect",
            "accept",
            "listen",
        ]
        .iter()
        .any(|part| name.contains(part)),
        None => false,
    }
}

/// Makes a call.
pub(crate) fn dispatch(call: &mut Call<'_>, number: u64) -> Outcome {
    match row(number).and_then(|row| row.handler) {
        Some(handler) => handler(call),
        None => Err(Errno::NOSYS.into()),
    }
}

table! {
    0 io_setup;
    1 io_destroy;
    2 io_submit;
    3 io_cancel;
    4 io_getevents;
    5 setxattr(5, text 0 1) => attributes::of_path;
    6 lsetxattr(5, text 0 1) => attributes::of_link;
    7 fsetxattr(5, text 1) => attributes::of_file;
    8 getxattr(4, text 0 1) => attributes::of_path;
    9 lgetxattr(4, text 0 1) => attributes::of_link;
    10 fgetxattr(4, text 1) => attributes::of_file;
    11 listxattr(3, text 0) => attributes::list_of_path;
    12 llistxattr(3, text 0) => attributes::list_of_link;
    13 flistxattr(3) => attributes::list_of_file;
    14 removexattr(2, text 0 1) => attributes::of_path;
    15 lremovexattr(2, text 0 1) => attributes::of_link;
    16 fremovexattr(2, text 1) => attributes::of_file;
    17 getcwd(2) => directories::getcwd;
    18 lookup_dcookie;
    19 eventfd2(2) => epoll::eventfd2;
    20 epoll_create1(1) => epoll::epoll_create1;
    21 epoll_ctl(4) => epoll::epoll_ctl;
    22 epoll_pwait(6) => epoll::epoll_pwait;
    23 dup(1) => descriptors::dup;
    24 dup3(3) => descriptors::dup3;
    25 fcntl(3) => descriptors::fcntl;
    26 inotify_init1;
    27 inotify_add_watch;
    28 inotify_rm_watch;
    29 ioctl(3) => poll::ioctl;
    30 ioprio_set;
    31 ioprio_get;
    32 flock(2) => locks::flock;
    33 mknodat(4, text 1) => files::mknodat;
    34 mkdirat(3, text 1) => files::mkdirat;
    35 unlinkat(3, text 1) => files::unlinkat;
    36 symlinkat(3, text 0 2) => files::symlinkat;
    37 linkat(5, text 1 3) => files::linkat;
    39 umount2;
    40 mount;
    41 pivot_root;
    42 nfsservctl;
    43 statfs(2, text 0) => status::statfs;
    44 fstatfs(2) => status::fstatfs;
    45 truncate(2, text 0) => files::truncate;
    46 ftruncate(2) => io::ftruncate;
    47 fallocate(4) => io::fallocate;
    48 faccessat(3, text 1) => status::faccessat;
    49 chdir(1, text 0) => directories::chdir;
    50 fchdir(1) => directories::fchdir;
    51 chroot(1) => identity::privileged;
    52 fchmod(2) => metadata::fchmod;
    53 fchmodat(3, text 1) => metadata::fchmodat;
    54 fchownat(5, text 1) => metadata::fchownat;
    55 fchown(3) => metadata::fchown;
    56 openat(4, text 1) => files::openat;
    57 close(1) => descriptors::close;
    58 vhangup;
    59 pipe2(2) => descriptors::pipe2;
    60 quotactl;
    61 getdents64(3) => directories::getdents64;
    62 lseek(3) => io::lseek;
    63 read(3) => io::read;
    64 write(3) => io::write;
    65 readv(3) => io::readv;
    66 writev(3) => io::writev;
    67 pread64(4) => io::pread64;
    68 pwrite64(4) => io::pwrite64;
    69 preadv(4) => io::preadv;
    70 pwritev(4) => io::pwritev;
    71 sendfile(4) => io::sendfile;
    72 pselect6(6) => poll::pselect6;
    73 ppoll(5) => poll::ppoll;
    74 signalfd4(4) => signalfd::signalfd4;
    75 vmsplice;
    76 splice;
    77 tee;
    78 readlinkat(4, text 1) => files::readlinkat;
    79 newfstatat(4, text 1) => status::newfstatat;
    80 fstat(2) => status::fstat;
    81 sync(0) => process::nothing;
    82 fsync(1) => io::fsync;
    83 fdatasync(1) => io::fdatasync;
    84 sync_file_range(4) => io::advise;
    85 timerfd_create(2) => timerfd::timerfd_create;
    86 timerfd_settime(4) => timerfd::timerfd_settime;
    87 timerfd_gettime(2) => timerfd::timerfd_gettime;
    88 utimensat(4, text 1) => metadata::utimensat;
    89 acct;
    90 capget;
    91 capset;
    92 personality;
    93 exit(1) => threads::exit;
    94 exit_group(1) => process::exit_group;
    95 waitid(5) => process::waitid;
    96 set_tid_address(1) => threads::set_tid_address;
    97 unshare;
    98 futex(6) => threads::futex;
    99 set_robust_list(2) => threads::set_robust_list;
    100 get_robust_list(3) => threads::get_robust_list;
    101 nanosleep(2) => time::nanosleep;
    102 getitimer(2) => timer::getitimer;
    103 setitimer(3) => timer::setitimer;
    104 kexec_load;
    105 init_module;
    106 delete_module;
    107 timer_create(3) => program_timers::timer_create;
    108 timer_gettime(2) => program_timers::timer_gettime;
    109 timer_getoverrun(1) => program_timers::timer_getoverrun;
    110 timer_settime(4) => program_timers::timer_settime;
    111 timer_delete(1) => program_timers::timer_delete;
    112 clock_settime;
    113 clock_gettime(2) => time::clock_gettime;
    114 clock_getres(2) => time::clock_getres;
    115 clock_nanosleep(4) => time::clock_nanosleep;
    116 syslog;
    117 ptrace;
    118 sched_setparam(2) => processors::sched_setparam;
    119 sched_setscheduler(3) => processors::sched_setscheduler;
    120 sched_getscheduler(1) => processors::sched_getscheduler;
    121 sched_getparam(2) => processors::sched_getparam;
    122 sched_setaffinity(3) => processors::sched_setaffinity;
    123 sched_getaffinity(3) => processors::sched_getaffinity;
    124 sched_yield(0) => threads::sched_yield;
    125 sched_get_priority_max(1) => processors::sched_get_priority;
    126 sched_get_priority_min(1) => processors::sched_get_priority;
    127 sched_rr_get_interval(2) => processors::sched_rr_get_interval;
    128 restart_syscall;
    129 kill(2) => signals::kill;
    130 tkill(2) => signals::tkill;
    131 tgkill(3) => signals::tgkill;
    132 sigaltstack(2) => signals::sigaltstack;
    133 rt_sigsuspend(2) => signals::rt_sigsuspend;
    134 rt_sigaction(4) => signals::rt_sigaction;
    135 rt_sigprocmask(4) => signals::rt_sigprocmask;
    136 rt_sigpending(2) => signals::rt_sigpending;
    137 rt_sigtimedwait(4) => signals::rt_sigtimedwait;
    138 rt_sigqueueinfo(3) => signals::rt_sigqueueinfo;
    139 rt_sigreturn(0) => signals::rt_sigreturn;
    140 setpriority(3) => identity::setpriority;
    141 getpriority(2) => identity::getpriority;
    142 reboot;
    143 setregid(2) => identity::setreuid;
    144 setgid(1) => identity::setuid;
    145 setreuid(2) => identity::setreuid;
    146 setuid(1) => identity::setuid;
    147 setresuid(3) => identity::setresuid;
    148 getresuid(3) => identity::getresuid;
    149 setresgid(3) => identity::setresuid;
    150 getresgid(3) => identity::getresuid;
    151 setfsuid(1) => identity::setfsuid;
    152 setfsgid(1) => identity::setfsuid;
    153 times(1) => time::times;
    154 setpgid(2) => identity::setpgid;
    155 getpgid(1) => identity::getpgid;
    156 getsid(1) => identity::getsid;
    157 setsid(0) => identity::setsid;
    158 getgroups(2) => identity::getgroups;
    159 setgroups(2) => identity::privileged;
    160 uname(1) => process::uname;
    161 sethostname(2) => identity::privileged;
    162 setdomainname(2) => identity::privileged;
    163 getrlimit(2) => process::getrlimit;
    164 setrlimit(2) => process::setrlimit;
    165 getrusage(2) => process::getrusage;
    166 umask(1) => process::umask;
    167 prctl(5) => prctl::prctl;
    168 getcpu(3) => processors::getcpu;
    169 gettimeofday(2) => time::gettimeofday;
    170 settimeofday;
    171 adjtimex;
    172 getpid(0) => identity::getpid;
    173 getppid(0) => identity::getppid;
    174 getuid(0) => identity::getuid;
    175 geteuid(0) => identity::getuid;
    176 getgid(0) => identity::getuid;
    177 getegid(0) => identity::getuid;
    178 gettid(0) => threads::gettid;
    179 sysinfo(1) => process::sysinfo;
    180 mq_open;
    181 mq_unlink;
    182 mq_timedsend;
    183 mq_timedreceive;
    184 mq_notify;
    185 mq_getsetattr;
    186 msgget;
    187 msgctl;
    188 msgrcv;
    189 msgsnd;
    190 semget;
    191 semctl;
    192 semtimedop;
    193 semop;
    194 shmget;
    195 shmctl;
    196 shmat;
    197 shmdt;
    198 socket(3) => socket_calls::socket;
    199 socketpair(4) => socket_calls::socketpair;
    200 bind(3) => socket_calls::bind;
    201 listen(2) => socket_calls::listen;
    202 accept(3) => socket_calls::accept;
    203 connect(3) => socket_calls::connect;
    204 getsockname(3) => socket_calls::getsockname;
    205 getpeername(3) => socket_calls::getpeername;
    206 sendto(6) => socket_calls::sendto;
    207 recvfrom(6) => socket_calls::recvfrom;
    208 setsockopt(5) => socket_options::setsockopt;
    209 getsockopt(5) => socket_options::getsockopt;
    210 shutdown(2) => socket_calls::shutdown;
    211 sendmsg(3) => messages::sendmsg;
    212 recvmsg(3) => messages::recvmsg;
    213 readahead(3) => io::advise;
    214 brk(1) => memory::brk;
    215 munmap(2) => memory::munmap;
    216 mremap(5) => memory::mremap;
    217 add_key;
    218 request_key;
    219 keyctl;
    220 clone(5) => threads::clone;
    221 execve;
    222 mmap(6) => memory::mmap;
    223 fadvise64(4) => io::fadvise64;
    224 swapon;
    225 swapoff;
    226 mprotect(3) => memory::mprotect;
    227 msync(3) => memory::msync;
    228 mlock(2) => memory::keep;
    229 munlock(2) => memory::keep;
    230 mlockall(1) => process::nothing;
    231 munlockall(0) => process::nothing;
    232 mincore(3) => memory::mincore;
    233 madvise(3) => memory::madvise;
    234 remap_file_pages;
    235 mbind;
    236 get_mempolicy;
    237 set_mempolicy;
    238 migrate_pages;
    239 move_pages;
    240 rt_tgsigqueueinfo(4) => signals::rt_tgsigqueueinfo;
    241 perf_event_open;
    242 accept4(4) => socket_calls::accept4;
    243 recvmmsg(5) => messages::recvmmsg;
    258 riscv_hwprobe;
    259 riscv_flush_icache(3) => memory::flush_instruction_cache;
    260 wait4(4) => process::wait4;
    261 prlimit64(4) => process::prlimit64;
    262 fanotify_init;
    263 fanotify_mark;
    264 name_to_handle_at;
    265 open_by_handle_at;
    266 clock_adjtime;
    267 syncfs(1) => io::advise;
    268 setns;
    269 sendmmsg(4) => messages::sendmmsg;
    270 process_vm_readv;
    271 process_vm_writev;
    272 kcmp;
    273 finit_module;
    274 sched_setattr;
    275 sched_getattr;
    276 renameat2(5, text 1 3) => files::renameat2;
    277 seccomp;
    278 getrandom(3) => random::getrandom;
    279 memfd_create(2, text 0) => memfd::memfd_create;
    280 bpf;
    281 execveat;
    282 userfaultfd;
    283 membarrier(3) => process::membarrier;
    284 mlock2(3) => memory::keep;
    285 copy_file_range(6) => io::copy_file_range;
    286 preadv2(6) => io::preadv2;
    287 pwritev2(6) => io::pwritev2;
    288 pkey_mprotect;
    289 pkey_alloc;
    290 pkey_free;
    291 statx(5, text 1) => status::statx;
    292 io_pgetevents;
    293 rseq;
    294 kexec_file_load;
    424 pidfd_send_signal(4) => pidfd::pidfd_send_signal;
    425 io_uring_setup;
    426 io_uring_enter;
    427 io_uring_register;
    428 open_tree;
    429 move_mount;
    430 fsopen;
    431 fsconfig;
    432 fsmount;
    433 fspick;
    434 pidfd_open(2) => pidfd::pidfd_open;
    435 clone3(2) => threads::clone3;
    436 close_range(3) => descriptors::close_range;
    437 openat2;
    438 pidfd_getfd(3) => pidfd::pidfd_getfd;
    439 faccessat2(4, text 1) => status::faccessat2;
    440 process_madvise;
    441 epoll_pwait2(6) => epoll::epoll_pwait2;
    442 mount_setattr;
    443 quotactl_fd;
    444 landlock_create_ruleset;
    445 landlock_add_rule;
    446 landlock_restrict_self;
    447 memfd_secret;
    448 process_mrelease;
    449 futex_waitv;
    450 set_mempolicy_home_node;
    452 fchmodat2(4, text 1) => metadata::fchmodat2;
}
