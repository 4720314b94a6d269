import { STATUS_CODES } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { CURRENT_PROTOCOL_VERSION } from '../protocol';

export const OPENAPI_PATH = 'openapi.json';
export const DOCS_PATH = 'docs';

/** The OpenAPI document of all routes. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const settings = new DocumentBuilder()
    .setTitle('Redis Stream Coordinator')
    .setDescription(
      'Coordinates sharded Redis Streams. Every error has one shape: `status`, `errorCode`, `message`, `retryable`, `details`. ' +
        '`X-Request-Id` is taken or made, returned and logged. The protocol behind these routes is docs/protocol.md.',
    )
    .setVersion(String(CURRENT_PROTOCOL_VERSION))
    .addTag('administration', 'Streams and groups')
    .addTag('membership', 'What consumers call')
    .addTag('routing', 'What publishers call')
    .addTag('monitoring', 'Read only')
    .addTag('health', 'For load balancers and orchestrators')
    .build();
  const document = SwaggerModule.createDocument(app, settings, {
    operationIdFactory: (_controller, method) => method,
  });
  for (const path of Object.values(document.paths)) describeAnswers(path);
  return document;
}

/** The schema of an answer says what it is; a description is still required. */
function describeAnswers(path: OpenAPIObject['paths'][string]): void {
  for (const operation of [path.get, path.post, path.delete]) {
    for (const [status, response] of Object.entries(operation?.responses ?? {})) {
      if (response !== undefined && 'description' in response) {
        response.description ||= STATUS_CODES[status] ?? status;
      }
    }
  }
}

/** Serves the document at /openapi.json, and a page to browse it at /docs whose files are all local. */
export function serveOpenApi(app: INestApplication): void {
  const document = openApiDocument(app);
  SwaggerModule.setup(DOCS_PATH, app, document, { jsonDocumentUrl: OPENAPI_PATH, raw: ['json'] });
}
