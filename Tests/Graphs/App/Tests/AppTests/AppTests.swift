import Client
import Foundation
import Stubs
import Testing
import XCTest

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

private final class TestStub: StubProtocol {
    override class var host: String { "test" }
}

private func answer() async throws -> (String, Int) {
    let base = try XCTUnwrap(URL(string: "http://test/"))
    let client = Client(base: base, configuration: .stubbed(by: TestStub.self))
    let (data, response) = try await client.send(client.request("x"))
    return (String(decoding: data, as: UTF8.self), response.statusCode)
}

final class ClientTests: XCTestCase {
    func testStub() async throws {
        let (text, status) = try await answer()
        XCTAssertEqual(text, "stub of test")
        XCTAssertEqual(status, 207)
    }

    func testOneSystem() throws {
        XCTAssertEqual(String(reflecting: URLSession.self), "URLLoading.URLSession")
        XCTAssertEqual(moduleOfClient(), "URLLoading.URLSession")
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        XCTAssertFalse(maps.contains("libcurl"))
        XCTAssertFalse(maps.contains("libFoundationNetworking"))
    }
}

@Test func stub() async throws {
    #expect(try await answer() == ("stub of test", 207))
}
