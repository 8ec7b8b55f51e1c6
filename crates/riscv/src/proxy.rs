//! The host's side of a program on Spike's machine: HTIF commands, and the system calls that the proxy kernel passes on.

use crate::bus::Bus;
use crate::host::{Errno, HostCalls, Stat};
use crate::htif::Htif;
use crate::map::from_le;

/// The standard streams are character devices.
const STANDARD_STREAM: Stat = Stat { mode: 0o020_620, size: 0 };

impl Bus {
    /// Executes the command in `tohost`. Call it when `due`. Returns whether the host may have written anywhere.
    pub(crate) fn serve_htif(&mut self, host: &mut dyn HostCalls) -> bool {
        let Some(mut htif) = self.htif.take() else { return false };
        htif.due = None;
        let mut anywhere = false;
        let command = self.ram_read(htif.tohost, 8).unwrap_or(0);
        let (device, code, payload) = (command >> 56, command >> 48 & 0xff, command << 16 >> 16);
        if command != 0 {
            self.ram_write(htif.tohost, 8, 0);
        }
        match (device, code) {
            (0, 0) if payload & 1 != 0 => htif.exit = Some(payload as i32 >> 1),
            (0, 0) if payload != 0 => {
                self.proxy(&mut htif, host, payload);
                anywhere = true;
                if htif.awaits_input {
                    // As if the host had not seen it yet.
                    self.ram_write(htif.tohost, 8, command);
                } else {
                    self.ram_write(htif.fromhost, 8, 1);
                }
            }
            // The console: putchar. (A getchar is never answered: nothing is typed.)
            (1, 1) => {
                self.console.write(&[payload as u8]);
                self.ram_write(htif.fromhost, 8, 1 << 56 | 1 << 48 | 0x100 | payload & 0xff);
            }
            _ => {}
        }
        self.htif = Some(htif);
        anywhere
    }

    /// A proxied system call: eight words in memory, of which the first one becomes the result.
    fn proxy(&mut self, htif: &mut Htif, host: &mut dyn HostCalls, at: u64) {
        let Some(block) = self.ram_slice(at, 64) else { return };
        htif.awaits_input = false;
        let mut words = [0u64; 8];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(8)) {
            *word = from_le(bytes);
        }
        let result = match self.system_call(htif, host, words[0], &words[1..]) {
            Ok(v) => v,
            Err(Errno(e)) => u64::from(e).wrapping_neg(),
        };
        if htif.awaits_input {
            return;
        }
        self.ram_write(at, 8, result);
    }

    /// The calls that the proxy kernel makes, with the numbers and arguments of Spike's front end.
    fn system_call(
        &mut self,
        htif: &mut Htif,
        host: &mut dyn HostCalls,
        number: u64,
        a: &[u64],
    ) -> Result<u64, Errno> {
        match number {
            // getcwd: the guest sees a root of its own.
            17 => self.put(a[0], a[1], b"/\0"),
            // mkdirat, unlinkat, renameat
            34 => host.make_directory(&self.path(a[1], a[2])?, a[3]).map(|()| 0),
            35 => host.unlink(&self.path(a[1], a[2])?, a[3]).map(|()| 0),
            38 => host.rename(&self.path(a[1], a[2])?, &self.path(a[4], a[5])?).map(|()| 0),
            // ftruncate
            46 => host.truncate(a[0], a[1]).map(|()| 0),
            // faccessat
            48 => host.stat_path(&self.path(a[1], a[2])?).map(|_| 0),
            // openat
            56 => {
                let path = self.path(a[1], a[2])?;
                host.open(&path, a[3], a[4])
            }
            57 if a[0] <= 2 => Ok(0),
            57 => host.close(a[0]).map(|()| 0),
            62 if a[0] <= 2 => Err(Errno(29)),
            62 => host.seek(a[0], a[1] as i64, a[2]),
            // read and pread
            63 | 67 => {
                if a[0] == 0 {
                    return self.read_input(htif, a[1], a[2]);
                }
                let buffer = self.ram_slice_mut(a[1], a[2]).ok_or(Errno::EFAULT)?;
                host.read(a[0], (number == 67).then_some(a[3]), buffer)
            }
            // write and pwrite
            64 | 68 => {
                let size = |bytes: u64| usize::try_from(bytes).map_err(|_| Errno::EFAULT);
                let start = size(a[1].checked_sub(self.ram_base).ok_or(Errno::EFAULT)?)?;
                let end = start.checked_add(size(a[2])?).ok_or(Errno::EFAULT)?;
                let bytes = self.ram.get(start..end).ok_or(Errno::EFAULT)?;
                if matches!(a[0], 1 | 2) {
                    self.console.write(bytes);
                    return Ok(a[2]);
                }
                host.write(a[0], (number == 68).then_some(a[3]), bytes)
            }
            // fstatat, fstat, lstat. An empty path asks about an open file (AT_EMPTY_PATH).
            79 => {
                let path = self.path(a[1], a[2])?;
                let stat = match &path[..] {
                    "" if a[0] <= 2 => STANDARD_STREAM,
                    "" => host.stat(a[0])?,
                    path => host.stat_path(path)?,
                };
                self.put_stat(a[3], stat)
            }
            80 => {
                let stat = if a[0] <= 2 { STANDARD_STREAM } else { host.stat(a[0])? };
                self.put_stat(a[1], stat)
            }
            1039 => {
                let stat = host.stat_path(&self.path(a[0], a[1])?)?;
                self.put_stat(a[2], stat)
            }
            93 => {
                htif.exit = Some(a[0] as i32);
                Ok(0)
            }
            // getmainvars: argc, argv, a null, an empty environment, then the strings.
            2011 => {
                let mut at = (htif.args.len() as u64 + 3) * 8;
                let mut out = (htif.args.len() as u64).to_le_bytes().to_vec();
                for arg in &htif.args {
                    out.extend((a[0].wrapping_add(at)).to_le_bytes());
                    at += arg.len() as u64 + 1;
                }
                out.extend([0; 16]);
                for arg in &htif.args {
                    out.extend(arg.as_bytes());
                    out.push(0);
                }
                if out.len() as u64 > a[1] {
                    return Err(Errno::ENOMEM);
                }
                self.put(a[0], a[1], &out).map(|_| 0)
            }
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Reads what was typed, as much as there is; waits for more if there is nothing and the input has not ended.
    fn read_input(&mut self, htif: &mut Htif, at: u64, room: u64) -> Result<u64, Errno> {
        self.ram_slice(at, room).ok_or(Errno::EFAULT)?;
        let bytes: Vec<u8> = std::iter::from_fn(|| self.console.read()).take(room as usize).collect();
        htif.awaits_input = bytes.is_empty() && room > 0 && htif.input_open;
        self.put(at, room, &bytes)
    }

    /// Writes `bytes` to a guest's buffer, if they fit; returns their number.
    fn put(&mut self, at: u64, room: u64, bytes: &[u8]) -> Result<u64, Errno> {
        if bytes.len() as u64 > room {
            return Err(Errno::ERANGE);
        }
        self.ram_slice_mut(at, bytes.len() as u64).ok_or(Errno::EFAULT)?.copy_from_slice(bytes);
        Ok(bytes.len() as u64)
    }

    /// A path of `len` bytes, including the closing NUL.
    fn path(&self, at: u64, len: u64) -> Result<String, Errno> {
        if len > 4096 {
            return Err(Errno::EINVAL);
        }
        let bytes = self.ram_slice(at, len).ok_or(Errno::EFAULT)?;
        let bytes = bytes.split(|&b| b == 0).next().unwrap_or(bytes);
        String::from_utf8(bytes.to_vec()).map_err(|_| Errno::EINVAL)
    }

    /// `struct stat` in the layout of RISC-V Linux.
    fn put_stat(&mut self, at: u64, stat: Stat) -> Result<u64, Errno> {
        let mut out = [0u8; 128];
        out[16..20].copy_from_slice(&stat.mode.to_le_bytes());
        // One link.
        out[20] = 1;
        out[48..56].copy_from_slice(&stat.size.to_le_bytes());
        out[56..60].copy_from_slice(&4096u32.to_le_bytes());
        out[64..72].copy_from_slice(&stat.size.div_ceil(512).to_le_bytes());
        self.put(at, 128, &out).map(|_| 0)
    }
}
