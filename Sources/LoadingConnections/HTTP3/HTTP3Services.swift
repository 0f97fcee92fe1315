#if HTTP3
    internal import CLoadingLinux
    internal import LoadingSemantics

    /// Where origins speak HTTP/3, as far as a session knows: what they have said (CONN-6), and where it did not work lately
    /// (CONN-8). Confined to the loop of the session's pool.
    final class HTTP3Services {
        private var said = AlternativeServices()
        private var broken = BrokenServices()

        /// Where to try; nil if nowhere is known, or all that is known has failed.
        ///
        /// - Parameter isAssumed: Whether the origin itself is to be tried, whatever is known (CONN-7).
        func service(of origin: ServerPlace, isAssumed: Bool, at now: Int64) -> AlternativeService? {
            // Asked before each request over HTTP/2: of those nearly all know nothing.
            if said.count == 0, !isAssumed { return nil }
            let services = said.services(of: origin, at: Self.today)
            if let known = services.first(where: { !broken.contains($0.place(for: origin), at: now) }) { return known }
            return isAssumed && !broken.contains(origin, at: now) ? AlternativeService(port: origin.port) : nil
        }

        /// What a response of an origin says.
        func note(_ fields: HTTPFields, from url: HTTPURL) {
            _ = said.note(fields, from: url, at: Self.today)
        }

        func failed(_ service: AlternativeService, of origin: ServerPlace, at now: Int64) {
            broken.failed(service.place(for: origin), at: now)
        }

        func succeeded(_ service: AlternativeService, of origin: ServerPlace) {
            broken.succeeded(service.place(for: origin))
        }

        /// The server at one of the origin's alternatives says that it is not the origin.
        func isMisdirected(at port: UInt16?, origin: ServerPlace) {
            for service in said.services(of: origin, at: Self.today) where service.port == port {
                _ = said.remove(service, of: origin)
            }
        }

        /// What was in the way may be gone, and what was said may have been for the other network.
        func networkChanged() {
            broken.forgetAll()
            _ = said.networkChanged(at: Self.today)
        }

        /// Seconds since 1970.
        private static var today: Int64 { cll_wall_now() / 1_000_000_000 }
    }
#endif
