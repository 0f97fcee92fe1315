import Glibc
import TestSupport
import Testing

@testable import LoadingTransport

/// The descriptors that connections leave free. Each test lowers the limit in a process of its own.
@Suite struct DescriptorReserveTests {
    private static func allow(_ count: UInt) {
        var limit = rlimit(rlim_cur: count, rlim_max: count)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(90) }
    }

    #if compiler(>=6.2)
        // CONN-14: sixteen of them, and of a small number a quarter
        @Test("the last descriptors are the reserve") func lastDescriptorsAreReserve() async {
            await #expect(processExitsWith: .success) {
                for (limit, first) in [(1024, 1008), (256, 240), (64, 48), (40, 30), (8, 6)] as [(UInt, Int32)] {
                    Self.allow(limit)
                    guard DescriptorReserve.contains(first), !DescriptorReserve.contains(first - 1) else { exit(1) }
                }
                exit(EXIT_SUCCESS)
            }
        }
    #endif

    #if compiler(>=6.2)
        // CONN-14, ERR-5
        @Test("a socket from the reserve is returned") func socketFromReserveIsReturned() async {
            await #expect(processExitsWith: .success) {
                final class NoOwner: ByteStreamOwner {
                    func streamBecameReady(_ stream: ByteStream) {}
                }
                let loop = EventLoops.assign()
                Self.allow(64)
                let firstOfReserve: Int32 = 48
                let refusal = Watched<Int32?>(nil)
                loop.post {
                    guard let address = SocketAddress(literal: "127.0.0.1", port: 1) else { exit(91) }
                    // Other threads of the process may still close a descriptor, so one more socket may come below the
                    // reserve.
                    var streams: [ByteStream] = []
                    while true {
                        do throws(LoadingTransport.POSIXFailure) {
                            streams.append(try ByteStream.connect(to: address, on: loop, owner: NoOwner()))
                            if streams.contains(where: { $0.descriptor >= firstOfReserve }) { exit(2) }
                        } catch {
                            return refusal.withValue { $0 = error.code }
                        }
                    }
                }
                let code = try refusal.wait(for: "the refusal") { $0 }
                guard code == EMFILE else { exit(3) }
                guard open("/dev/null", O_RDONLY | O_CLOEXEC) <= firstOfReserve else { exit(4) }
                exit(EXIT_SUCCESS)
            }
        }
    #endif
}
