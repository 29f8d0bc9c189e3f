//! Passes descriptors between processes, such as the listening socket of a proxy from a command's network
//! to the caller.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::c_void;
use nix::errno::Errno;

/// Where a command with [`Network::Proxy`](crate::Network::Proxy) finds its proxy.
pub const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);

/// How many connections may wait to be accepted.
const WAITING: libc::c_int = 128;
/// The room for one descriptor with its header.
const CONTROL: usize = 24;

/// Memory for one descriptor, aligned as its header has to be.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Listens on an address of this network. It may be used between fork and exec.
pub(crate) fn listen(address: SocketAddrV4) -> nix::Result<OwnedFd> {
    // SAFETY: plain data on the stack, for which zeros are valid.
    let mut raw: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    raw.sin_family = libc::sa_family_t::try_from(libc::AF_INET).map_err(|_| Errno::EINVAL)?;
    raw.sin_port = address.port().to_be();
    raw.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
    let length = libc::socklen_t::try_from(size_of_val(&raw)).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the kernel returns a descriptor that nobody else knows, and reads the address.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let number = Errno::result(libc::socket(libc::AF_INET, kind, 0))?;
        let socket = OwnedFd::from_raw_fd(number);
        Errno::result(libc::bind(number, (&raw const raw).cast(), length))?;
        Errno::result(libc::listen(number, WAITING))?;
        Ok(socket)
    }
}

/// Sends a descriptor. It may be used between fork and exec.
pub(crate) fn send_descriptor(to: BorrowedFd<'_>, sent: BorrowedFd<'_>) -> nix::Result<()> {
    let mut byte = 0_u8;
    let mut control = Control([0; CONTROL]);
    with_message(&mut byte, &mut control, |message| {
        // SAFETY: the message and its room for a descriptor live on the stack of the caller.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(DESCRIPTOR) as _;
            let data: *mut RawFd = libc::CMSG_DATA(header).cast();
            data.write_unaligned(sent.as_raw_fd());
            Errno::result(libc::sendmsg(to.as_raw_fd(), message, 0)).map(drop)
        }
    })
}

/// Takes a descriptor that was sent, and waits for it if `wait` is true. It may be used between fork and exec.
pub(crate) fn receive_descriptor(from: BorrowedFd<'_>, wait: bool) -> nix::Result<OwnedFd> {
    let mut byte = 0_u8;
    let mut control = Control([0; CONTROL]);
    with_message(&mut byte, &mut control, |message| {
        let flags = libc::MSG_CMSG_CLOEXEC | if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: as above. The kernel fills both, and the descriptor is new in this process.
        unsafe {
            Errno::result(libc::recvmsg(from.as_raw_fd(), message, flags))?;
            let header = libc::CMSG_FIRSTHDR(message);
            if header.is_null()
                || (*header).cmsg_level != libc::SOL_SOCKET
                || (*header).cmsg_type != libc::SCM_RIGHTS
            {
                return Err(Errno::EBADMSG);
            }
            let data: *const RawFd = libc::CMSG_DATA(header).cast();
            Ok(OwnedFd::from_raw_fd(data.read_unaligned()))
        }
    })
}

const DESCRIPTOR: u32 = size_of::<RawFd>() as u32;

/// Calls a function with a message of one byte, which some systems need, and room for a descriptor.
fn with_message<T>(
    byte: &mut u8,
    control: &mut Control,
    call: impl FnOnce(&mut libc::msghdr) -> T,
) -> T {
    let mut part = libc::iovec {
        iov_base: std::ptr::from_mut(byte).cast::<c_void>(),
        iov_len: 1,
    };
    // SAFETY: plain data for which zeros are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast::<c_void>();
    message.msg_controllen = CONTROL as _;
    call(&mut message)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_descriptor_arrives_as_the_same_socket() {
        let (here, there) = UnixDatagram::pair().unwrap();
        assert_eq!(
            receive_descriptor(here.as_fd(), false).unwrap_err(),
            Errno::EAGAIN,
            "nothing was sent yet"
        );
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, free.port());
        let socket = listen(address).unwrap();
        send_descriptor(there.as_fd(), socket.as_fd()).unwrap();
        drop(socket);
        let listener = TcpListener::from(receive_descriptor(here.as_fd(), false).unwrap());
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"x").unwrap();
        let mut byte = [0];
        listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
    }

    #[test]
    fn the_room_is_what_the_system_needs() {
        // SAFETY: computes a number.
        assert_eq!(unsafe { libc::CMSG_SPACE(DESCRIPTOR) } as usize, CONTROL);
    }
}
