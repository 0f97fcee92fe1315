import Glibc
import TestSupport
import Testing

@testable import LoadingTransport

/// The descriptors that connections leave to others. Each test lowers the limit in a process of its own.
@Suite struct DescriptorReserveTests {
    private static func allow(_ count: UInt) {
        var limit = rlimit(rlim_cur: count, rlim_max: count)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(90) }
    }

    // CONN-14: sixteen of them, and of a small number a quarter
    @Test func `the last descriptors are the reserve`() async {
        await #expect(processExitsWith: .success) {
            for (limit, first) in [(1024, 1008), (256, 240), (64, 48), (40, 30), (8, 6)] as [(UInt, Int32)] {
                Self.allow(limit)
                guard DescriptorReserve.contains(first), !DescriptorReserve.contains(first - 1) else { exit(1) }
            }
            exit(EXIT_SUCCESS)
        }
    }

    // CONN-14, ERR-5
    @Test func `a socket from the reserve is given back`() async {
        await #expect(processExitsWith: .success) {
            final class Nobody: ByteStreamOwner {
                func streamBecameReady(_ stream: ByteStream) {}
            }
            let loop = EventLoops.assign()
            Self.allow(64)
            var last: Int32 = -1
            while last < 47 { last = open("/dev/null", O_RDONLY | O_CLOEXEC) }
            // The next one is the first of the reserve.
            let isRefused = Watched<Int32?>(nil)
            loop.post {
                guard let address = SocketAddress(literal: "127.0.0.1", port: 1) else { exit(91) }
                do throws(LoadingTransport.POSIXFailure) {
                    _ = try ByteStream.connect(to: address, on: loop, owner: Nobody())
                    exit(2)
                } catch {
                    isRefused.withValue { $0 = error.code }
                }
            }
            let code = try isRefused.wait(for: "the refusal") { $0 }
            guard code == EMFILE else { exit(3) }
            guard open("/dev/null", O_RDONLY | O_CLOEXEC) == last + 1 else { exit(4) }
            exit(EXIT_SUCCESS)
        }
    }
}
