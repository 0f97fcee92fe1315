internal import Glibc
internal import LoadingSemantics
package import LoadingTransport

/// The lookup of `.local` names (RFC 6762 §3) by Avahi, for machines on which the system's resolver cannot do it
/// because nss-mdns is not installed.
package enum MulticastLookup {
    /// Whether multicast DNS is responsible for a name.
    package static func isResponsible(for host: String) -> Bool {
        let name = (host.hasSuffix(".") ? host.dropLast() : host[...]).lowercased()
        return name.hasSuffix(".local") && name.utf8.count > ".local".utf8.count
    }

    /// Blocks, for at most five seconds beyond the time that the bus takes to start Avahi. Returns nil if Avahi cannot
    /// be asked.
    package static func answer(
        to question: AddressQuery, from discovery: ServiceDiscovery = .shared
    ) -> AddressAnswer? {
        let outcome = Outcome()
        let operation = discovery.addresses(
            ofHost: question.host, question.family, timeout: TimeLimits.standard.multicastLookup
        ) { outcome.set($0) }
        // The operation ends by its timeout at the latest, and always has a completion, because it is not cancelled.
        return withExtendedLifetime(operation) {
            switch outcome.wait() {
            case .success(let addresses): .success(addresses)
            case .failure(.notFound), .failure(.timedOut): .failure(NameFailure(code: EAI_NONAME))
            case .failure: nil
            }
        }
    }

    /// A result that a thread waits for.
    private final class Outcome: @unchecked Sendable {
        // Sendable because the value is set before the semaphore is raised, and read after that.
        private var value: Result<[SocketAddress], DiscoveryFailure> = .failure(.noResources)
        private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init() { sem_init(semaphore, 0, 0) }

        deinit {
            sem_destroy(semaphore)
            semaphore.deallocate()
        }

        func set(_ value: Result<[SocketAddress], DiscoveryFailure>) {
            self.value = value
            sem_post(semaphore)
        }

        func wait() -> Result<[SocketAddress], DiscoveryFailure> {
            while sem_wait(semaphore) != 0 {}
            return value
        }
    }
}
