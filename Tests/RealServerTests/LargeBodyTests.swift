import Foundation
import TestSupport
import Testing
import URLLoading

/// Memory use with a server in another process.
@Suite(.needs(.nginx)) struct LargeBodyTests {
    // T-30: what a body took goes back to the system with the body
    @Test("many large bodies leave no memory behind") func manyLargeBodies() async throws {
        let size = 20_000_000
        let server = try NginxServer(files: ["body": [UInt8](repeating: 0x78, count: size)])
        defer { server.stop() }
        let session = URLSession(configuration: .default)
        func load() async throws {
            let (body, _) = try await session.data(from: server.url("/body"))
            #expect(body.count == size)
        }
        let before = Memory.resident
        for _ in 0..<5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await load() } }
                try await group.waitForAll()
            }
        }
        session.invalidateAndCancel()
        #expect(Memory.resident - before < Memory.limit(40_000_000))
    }
}
