/** A class whose fields carry the decorators of field-rules.ts. */
export type DtoClass = new () => object;

/** What the rules of a field are, beside the metadata of class-validator. */
export interface DtoField {
  readonly name: string;
  /** Told to a client whose value breaks any rule of the field. */
  readonly rule: string;
  /** A query or path parameter: digits become a number before it is checked. */
  readonly readsText: boolean;
  readonly nested: { readonly of: () => DtoClass; readonly isList: boolean } | null;
}

const fieldsByClass = new WeakMap<object, Map<string, DtoField>>();

/** Decorator that remembers a part of what is known of a field. */
export function rememberField(part: Partial<Omit<DtoField, 'name'>>): PropertyDecorator {
  return (prototype, property) => {
    const name = String(property);
    const fields = fieldsByClass.get(prototype.constructor) ?? new Map<string, DtoField>();
    fieldsByClass.set(prototype.constructor, fields);
    const known = fields.get(name) ?? { name, rule: 'is not valid', readsText: false, nested: null };
    fields.set(name, { ...known, ...part });
  };
}

/** The fields of a DTO and of the classes it extends, nearest first; empty for a class that is no DTO. */
export function fieldsOf(dto: DtoClass): ReadonlyMap<string, DtoField> {
  const cached = collected.get(dto);
  if (cached !== undefined) return cached;
  const fields = new Map<string, DtoField>();
  for (
    let prototype = dto.prototype as object | null;
    prototype !== null;
    prototype = Object.getPrototypeOf(prototype) as object | null
  ) {
    for (const [name, field] of fieldsByClass.get(prototype.constructor) ?? []) {
      if (!fields.has(name)) fields.set(name, field);
    }
  }
  collected.set(dto, fields);
  return fields;
}

const collected = new WeakMap<DtoClass, ReadonlyMap<string, DtoField>>();
